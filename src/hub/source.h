// What `freetoken pull` is asked for, and the servers that are asked.
#pragma once

#include <string>

#include "base/error.h"
#include "hub/http_client.h"

namespace ft {

struct HubServers {
    std::string hub = "https://huggingface.co";
    std::string ollama = "https://registry.ollama.ai";
    HttpToken token;  // for the hub
};

// FREETOKEN_HUB (else HF_ENDPOINT), FREETOKEN_OLLAMA, HF_TOKEN. A token is not sent over a connection that
// others can listen to: that is an error.
Expected<HubServers> hub_servers_of_environment();

struct ModelSource {
    enum class Kind { hub, ollama, url };
    Kind kind = Kind::hub;
    std::string word = {};      // as the user wrote it
    std::string owner = {};     // ollama: "library" where none is named
    std::string name = {};      // hub: the repository; ollama: the model
    std::string revision = {};  // hub: "main"; ollama: the tag
    std::string file = {};      // hub: chosen by its name, as in an address of one file
    std::string quant = {};     // hub: in the form of quant_label(); "": not chosen
    std::string url = {};       // url: the file's address
};

// The name without the hub's host before it, which users of Ollama write: hf.co/OWNER/REPO:QUANT.
std::string without_hub_host(const std::string& word);

// OWNER/REPO, OWNER/REPO:QUANT (hf.co/ may stand before them), ollama:NAME, ollama:NAME:TAG,
// ollama:OWNER/NAME:TAG, or an address. An address of the hub's own (…/resolve/main/FILE, …/blob/main/FILE,
// or of a repository) is the hub's file, whose size and digest are known. Refuses names that the servers
// cannot have.
Expected<ModelSource> parse_source(const std::string& word, const HubServers& servers);

}  // namespace ft
