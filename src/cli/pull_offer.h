// From what the user asked for to the files that a server offers for it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "hub/download.h"
#include "hub/source.h"

namespace ft::cli {

struct PullOffer {
    std::string name;               // of the first file, for messages
    std::vector<RemotePart> parts;  // of a split model all of them, in order; paths lie in the store
    uint64_t bytes() const;
};

// Asks the server for its list, or for the file's size. `word` goes into the journals of unfinished
// downloads.
Expected<PullOffer> find_offer(const ModelSource& source, const HubServers& servers, const std::string& store,
                               const std::string& word, const Patience& patience);

}  // namespace ft::cli
