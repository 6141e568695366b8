// A copy of a model's experts on a faster drive, made for reading: the slices of an expert stand together as
// they lie in a slot, from the beginning of a block on, so that one direct read gets an expert.
//
//   [record of layer 0, expert 0] [layer 0, expert 1] ... [table]
//   record  its slices at slot_rooms(), zeros between them
//   table   8 bytes "FTPACK01", 8 the model's identity, 8 the number of records, 8 for each record the XXH3
//           of its bytes from the first slice to the end of the last, 8 the XXH3 of the table so far
//
// The table is looked at when a pack is opened, a record when it is read for the first time: reading all of a
// pack at every start would cost more than it tells. A record that is damaged or cannot be read comes from
// the model's own file instead, so that no answer depends on the copy; the pack is then removed, and the next
// start makes it anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/file.h"
#include "tiers/expert_records.h"

namespace ft {

class PackFile;

class ExpertPack {
 public:
    // The one name that a model has in a folder; a pack of an older state of the model is replaced.
    static std::string path_in(const std::string& folder, const std::string& model_path);
    static uint64_t bytes_of(const ExpertRecords& records);

    // Copies all experts: what RAM cannot hold changes while the program runs, so a part would not do. Takes
    // the name `path` when it is whole and on the drive; a failure (a full drive, a model that is written to
    // meanwhile) leaves nothing behind.
    static Status write(const std::string& path, const ExpertRecords& records,
                        const std::function<void(uint64_t done, uint64_t total)>& progress);

    // `records` say what is wanted; their files must outlive the pack. Errors: there is none
    // (Code::not_found), it is another model's or damaged.
    static Expected<ExpertPack> open(const std::string& path, const ExpertRecords& records,
                                     const OpenFile& open_file = &File::open);

    ExpertPack(ExpertPack&&) noexcept;
    ExpertPack& operator=(ExpertPack&&) noexcept;
    ~ExpertPack();

    // The same experts in the pack. Valid as long as the pack.
    ExpertRecords records() const;
    // How many reads were served from the model's own file so far.
    uint64_t n_mended() const;

 private:
    explicit ExpertPack(std::unique_ptr<PackFile> file);
    std::unique_ptr<PackFile> file_;
};

}  // namespace ft
