// Keys that the mixtures of the Qwen family share.
#pragma once

#include "base/error.h"
#include "model/hparams.h"

namespace ft {

// expert_feed_forward_length; missing: feed_forward_length / experts used. Refuses a file without experts.
Status read_expert_length(const Gguf& file, Hparams& hp);
// expert_shared_feed_forward_length; missing: feed_forward_length.
Status read_shared_length(const Gguf& file, Hparams& hp);

}  // namespace ft
