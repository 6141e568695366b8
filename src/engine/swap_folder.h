// memory.swap_dir: whether the experts are worth copying to a folder on another drive, and the copy
// (tiers/expert_pack.h). On the model's own drive, and on a slower one, the model file itself is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "device/drive.h"
#include "tiers/expert_pack.h"

namespace ft {

// The reason where no expert is read from a drive.
inline constexpr std::string_view k_all_in_ram = "RAM holds all weights";

struct DriveComparison {
    bool faster = false;  // the folder's drive than the model's
    std::string why;      // the rest of a line of log: "its drive reads 3.10 GB/s, the model's 0.80 GB/s"
};

// By the drives' measured rates, which are measured where they are not known yet (less than 3 s each).
// before_measuring: asked before the folder's drive is, which writes a file there; its error is handed on.
using BeforeMeasuring = std::function<Status()>;
Expected<DriveComparison> compare_drives(const std::string& model_path, const std::string& folder,
                                         const BeforeMeasuring& before_measuring);
using CompareDrives = std::function<Expected<DriveComparison>(
    const std::string& model_path, const std::string& folder, const BeforeMeasuring& before_measuring)>;

// The same where the folder lies in memory: why nothing is copied there, whatever the model's drive. "" on
// any drive.
std::string memory_folder_reason(const Drive& drive);

// Of a folder on a disk that turns, with its name; "" on any other drive.
std::string slow_folder_warning(const std::string& folder, const Drive& drive);

class SwapFolder {
 public:
    // Decides, before anything of the model is read. `bytes` are those of a pack of all experts. An error:
    // the copy is worth it, or would have to be measured, and finds no room. While another program copies to
    // the folder, which takes the room that is looked for, nothing is refused: pack() looks again.
    static Expected<SwapFolder> choose(const std::string& folder, const std::string& model_path,
                                       uint64_t bytes, const CompareDrives& compare);

    // The pack that is there, or a new one. Nothing where the model file itself is to be read; one line of
    // log says why. Programs that need a new one take turns in the folder: one copies, the others wait with
    // one line of log, and take what it made. The files of `records` must outlive the pack.
    std::optional<ExpertPack> pack(const ExpertRecords& records, const OpenFile& open_file,
                                   const std::function<void(uint64_t done, uint64_t total)>& progress) const;

 private:
    Status copy(const ExpertRecords& records,
                const std::function<void(uint64_t done, uint64_t total)>& progress) const;

    std::string folder_, path_;  // path_ is "" where nothing is copied
};

}  // namespace ft
