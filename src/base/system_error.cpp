#include "base/system_error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace ft {

namespace {

constexpr size_t k_longest_path_shown = 300;

struct Remedy {
    int error_number;
    std::string_view text;
};

constexpr Remedy k_remedies[] = {
    {ENOENT, "Check the path."},
    {ENOTDIR, "Check the path."},
    {EISDIR, "Name a file inside it."},
    {EACCES, "Change the file's rights, or run as a user who may do this."},
    {EPERM, "Change the file's rights, or run as a user who may do this."},
    {ENOSPC, "Free some space, or name another place."},
    {EDQUOT, "Your share of the drive is used up: delete files, or name another place."},
    {EFBIG, "Raise the limit on file sizes (ulimit -f), or name another drive."},
    {EROFS, "What lies there can only be read: name another place."},
    {EIO, "The drive or its connection failed: look into the system's log, and copy the file elsewhere."},
    {ESTALE, "The server of the drive does not know the file any more: name it again."},
    {EMFILE, "Raise the limit on open files (ulimit -n)."},
    {ENFILE, "The whole system has no file to give: close other programs."},
    {ENAMETOOLONG, "Choose a shorter name."},
    {ELOOP, "Its links lead in a circle: name the file itself."},
    {ETXTBSY, "It is a program that is running: end it, or name another file."},
    {ENOMEM, "Close other programs."},
    {ENXIO, "Nobody is at the other end: start that program first, or name a regular file."},
    {EAGAIN, "Raise the limit on processes (ulimit -u), or choose fewer threads with --threads."},
    {EBADF, "It is closed: give it a file or a pipe."},
};

}  // namespace

std::string path_text(const std::string& path) { return printable(path, k_longest_path_shown); }

std::string system_reason(int error_number) {
    const char* text = ::strerrordesc_np(error_number);  // unlike strerror() safe beside other threads
    return text != nullptr ? text : fmt::format("error {}", error_number);
}

std::string_view system_remedy(int error_number) {
    for (const Remedy& remedy : k_remedies)
        if (remedy.error_number == error_number) return remedy.text;
    return "";
}

std::string thread_remedy() {
    rlimit space{};
    if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return std::string(system_remedy(EAGAIN));
    return fmt::format(
        "Raise the limit on address space (ulimit -v, {} KiB now) or on processes (ulimit -u), or choose "
        "fewer threads with --threads.",
        space.rlim_cur / 1024);
}

Error system_error(const std::string& path, std::string_view verb, int error_number) {
    const bool missing = error_number == ENOENT || error_number == ENOTDIR;
    return Error{missing ? Code::not_found : Code::io,
                 fmt::format("{}: cannot {}: {}", path_text(path), verb, system_reason(error_number)),
                 std::string(system_remedy(error_number))};
}

}  // namespace ft
