#include "device/drive.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "device/cgroup.h"

namespace ft {

namespace {

std::string first_line(const std::string& path) {
    std::string text = read_system_file(path).value_or("");
    text = text.substr(0, text.find('\n'));
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

struct Mount {
    std::string point, type, source;
};

// The mount with this device number that was mounted last; its place and file system.
Mount mount_of(unsigned major_number, unsigned minor_number, const std::string& root) {
    const std::string wanted = fmt::format("{}:{}", major_number, minor_number);
    std::istringstream lines(read_system_file(root + "/proc/self/mountinfo").value_or(""));
    Mount mount;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string id, parent, device, inside, point;
        words >> id >> parent >> device >> inside >> point;
        const size_t dash = line.find(" - ");
        if (device != wanted || dash == std::string::npos) continue;
        std::istringstream rest(line.substr(dash + 3));
        mount.point = point;
        rest >> mount.type >> mount.source;
    }
    return mount;
}

DriveKind kind_by_file_system(const std::string& type) {
    for (const char* name : {"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.sshfs"})
        if (type == name) return DriveKind::network;
    for (const char* name : {"tmpfs", "ramfs"})
        if (type == name) return DriveKind::memory;
    for (const char* name : {"9p", "drvfs", "v9fs"})
        if (type == name) return DriveKind::windows;
    return DriveKind::unknown;
}

// The folder of /sys that describes the whole drive, for a device or a partition of it. File systems that
// span devices (btrfs) have a number of their own: the mount names the device then.
std::string block_folder(unsigned major_number, unsigned minor_number, const Mount& mount,
                         const std::string& root) {
    std::error_code failed;
    std::filesystem::path folder = std::filesystem::canonical(
        fmt::format("{}/sys/dev/block/{}:{}", root, major_number, minor_number), failed);
    if (failed && mount.source.starts_with("/dev/"))
        folder =
            std::filesystem::canonical(fmt::format("{}/sys/class/block/{}", root,
                                                   mount.source.substr(mount.source.find_last_of('/') + 1)),
                                       failed);
    if (failed) return "";
    if (std::filesystem::exists(folder / "partition", failed)) return folder.parent_path().string();
    return folder.string();
}

void add_block_device(const std::string& folder, Drive& drive) {
    drive.device = folder.substr(folder.find_last_of('/') + 1);
    drive.model = first_line(folder + "/device/model");
    const std::string read_ahead = first_line(folder + "/queue/read_ahead_kb");
    if (!read_ahead.empty()) drive.read_ahead_kb = std::atoi(read_ahead.c_str());
    if (drive.kind != DriveKind::unknown) return;
    if (drive.device.starts_with("nvme")) drive.kind = DriveKind::nvme;
    else if (drive.device.starts_with("vd") || drive.device.starts_with("xvd") ||
             drive.device.starts_with("loop"))
        drive.kind = DriveKind::virtual_drive;
    else if (first_line(folder + "/queue/rotational") == "1") drive.kind = DriveKind::rotating;
    else drive.kind = DriveKind::solid_state;
}

}  // namespace

const char* drive_kind_name(DriveKind kind) {
    switch (kind) {
        case DriveKind::nvme:
            return "NVMe";
        case DriveKind::solid_state:
            return "solid state";
        case DriveKind::rotating:
            return "rotating disk";
        case DriveKind::network:
            return "network";
        case DriveKind::memory:
            return "memory";
        case DriveKind::windows:
            return "Windows folder";
        case DriveKind::virtual_drive:
            return "virtual drive";
        case DriveKind::unknown:
            return "unknown";
    }
    return "";
}

std::string Drive::identity() const {
    return device.empty() ? fmt::format("{} at {}, {} bytes", file_system, mount_point, total_bytes)
                          : fmt::format("{} {}, {} bytes", device, model, total_bytes);
}

Expected<Drive> drive_of(const std::string& path, const std::string& root) {
    struct stat status{};
    struct statvfs space{};
    if (::stat(path.c_str(), &status) != 0 || ::statvfs(path.c_str(), &space) != 0)
        return Error{Code::not_found,
                     fmt::format("{}: {}", printable(path), std::generic_category().message(errno)), ""};
    const unsigned major_number = major(status.st_dev), minor_number = minor(status.st_dev);
    Drive drive;
    const Mount mount = mount_of(major_number, minor_number, root);
    drive.file_system = mount.type;
    drive.mount_point = mount.point;
    drive.kind = kind_by_file_system(mount.type);
    drive.free_bytes = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
    drive.total_bytes = static_cast<uint64_t>(space.f_blocks) * space.f_frsize;
    const std::string folder = block_folder(major_number, minor_number, mount, root);
    if (!folder.empty()) add_block_device(folder, drive);
    return drive;
}

}  // namespace ft
