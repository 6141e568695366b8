#include "engine/swap_folder.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/log.h"
#include "base/size_text.h"
#include "device/drive.h"
#include "engine/machine_profile.h"
#include "io/folder_lock.h"
#include "io/output_file.h"

namespace ft {

namespace {

constexpr double k_worth_a_copy = 1.2;  // times the model's drive: measurements differ by less
constexpr uint64_t k_read_bytes = 2 * k_mib;
constexpr double k_depth = 16;

bool same_file_system(const std::string& a, const std::string& b) {
    struct stat of_a = {}, of_b = {};
    return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev;
}

double measured_rate(const std::string& path) {
    const auto say = [&] { log("mem", "measuring the drive of {}, once", path_text(path)); };
    return machine_profile(path, say).drive.gb_per_second(k_read_bytes, k_depth);
}

uint64_t bytes_there(const std::string& path) {
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(path, failed);
    return failed ? 0 : bytes;
}

Error no_room(const std::string& folder, uint64_t bytes, uint64_t free) {
    return Error{Code::too_large,
                 fmt::format("the experts take {} there, and {} has {} free", size_text(bytes),
                             path_text(folder), size_text(free)),
                 "Free some space, name another folder, or leave the setting out."};
}

// `path`: a pack that makes room for the new one.
Status check_room(const std::string& folder, const std::string& path, uint64_t bytes) {
    const auto drive = drive_of(folder);
    if (!drive) return drive.error();
    const uint64_t there = bytes_there(path);
    if (there == bytes || drive->free_bytes + there >= bytes) return {};
    return no_room(folder, bytes, drive->free_bytes);
}

// No error while another program copies to the folder, which takes the room that is looked for.
Status check_room_at_rest(const std::string& folder, const std::string& path, uint64_t bytes) {
    const auto shared = FolderLock::share(folder);
    if (!shared) return {};
    remove_stale_output(folder);
    if (Status s = check_room(folder, path, bytes); !s) return s.error().within("memory.swap_dir");
    return {};
}

}  // namespace

std::string slow_folder_warning(const std::string& folder, const Drive& drive) {
    if (drive.kind != DriveKind::rotating) return "";
    return fmt::format("memory.swap_dir: {} is on a rotating disk ({}), where experts take long to read",
                       path_text(folder), drive.device);
}

std::string memory_folder_reason(const Drive& drive) {
    if (drive.kind != DriveKind::memory) return "";
    return "the folder lies in memory, which is worth more as slots (memory.ram_budget)";
}

Expected<DriveComparison> compare_drives(const std::string& model_path, const std::string& folder,
                                         const BeforeMeasuring& before_measuring) {
    const auto of_model = drive_of(model_path), of_folder = drive_of(folder);
    const bool same_device = of_model && of_folder && of_model->identity() == of_folder->identity();
    if (same_device || same_file_system(model_path, folder))
        return DriveComparison{false, "it is on the model's own drive, which costs no space and is as fast"};
    if (of_folder) {
        if (std::string reason = memory_folder_reason(*of_folder); !reason.empty())
            return DriveComparison{false, std::move(reason)};
        if (const std::string warning = slow_folder_warning(folder, *of_folder); !warning.empty())
            log("warn", "{}", warning);
    }
    if (!known_machine_profile(folder))
        if (Status s = before_measuring(); !s) return s.error();
    const double model = measured_rate(model_path), other = measured_rate(folder);
    if (model <= 0 || other <= 0) return DriveComparison{false, "the drives could not be measured"};
    return DriveComparison{other > k_worth_a_copy * model,
                           fmt::format("its drive reads {:.2f} GB/s, the model's {:.2f} GB/s", other, model)};
}

Expected<SwapFolder> SwapFolder::choose(const std::string& folder, const std::string& model_path,
                                        uint64_t bytes, const CompareDrives& compare) {
    SwapFolder chosen;
    chosen.folder_ = folder;
    const std::string path = ExpertPack::path_in(folder, model_path);
    const auto has_room = [&] { return check_room_at_rest(folder, path, bytes); };
    const auto drives = compare(model_path, folder, has_room);
    if (!drives) return drives.error();
    if (!drives->faster) {
        log("mem", "memory.swap_dir: the model file itself is read: {}", drives->why);
        return chosen;
    }
    if (Status s = has_room(); !s) return s.error();
    chosen.path_ = path;
    return chosen;
}

// By whoever has the folder alone. What is there under the name is of no use.
Status SwapFolder::copy(const ExpertRecords& records,
                        const std::function<void(uint64_t, uint64_t)>& progress) const {
    std::error_code failed;
    std::filesystem::remove(path_, failed);
    const uint64_t bytes = ExpertPack::bytes_of(records);
    if (Status s = check_room(folder_, path_, bytes); !s) return s;
    log("mem", "memory.swap_dir: {} of experts are copied to {}, once", size_text(bytes), path_text(folder_));
    return ExpertPack::write(path_, records, progress);
}

std::optional<ExpertPack> SwapFolder::pack(const ExpertRecords& records, const OpenFile& open_file,
                                           const std::function<void(uint64_t, uint64_t)>& progress) const {
    if (path_.empty()) return std::nullopt;
    auto pack = ExpertPack::open(path_, records, open_file);
    if (pack) return std::move(*pack);
    const FolderLock alone = FolderLock::take(folder_, [&] {
        log("mem", "memory.swap_dir: another program is copying experts to {}; waiting until it is done",
            path_text(folder_));
    });
    pack = ExpertPack::open(path_, records, open_file);
    if (pack) return std::move(*pack);
    remove_stale_output(folder_);
    if (pack.error().code != Code::not_found)
        log("mem", "{}; the experts are copied anew", pack.error().what);
    if (const Status s = copy(records, progress); !s) {
        log("mem", "memory.swap_dir: {}; the model file itself is read", s.error().what);
        return std::nullopt;
    }
    pack = ExpertPack::open(path_, records, open_file);
    if (pack) return std::move(*pack);
    log("mem", "memory.swap_dir: {}; the model file itself is read", pack.error().what);
    return std::nullopt;
}

}  // namespace ft
