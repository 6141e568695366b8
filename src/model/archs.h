// The architectures: a row in archs.cpp and one file archs/NAME.cpp each.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "model/hparams.h"

namespace ft {

struct Layer;
class TensorBinder;
class Ops;

struct Arch {
    const char* name;  // general.architecture
    RopeKind rope;
    bool renormalise;  // router weights divided by their sum

    // Keys beyond those that every architecture has.
    Status (*read)(const Gguf& file, Hparams& hp);
    // The tensors of one block.
    Status (*bind)(TensorBinder& tensors, const Hparams& hp, Layer& layer);
    // One transformer block over the step's tokens: reads and writes the residual stream.
    void (*block)(Ops& ops, const Layer& layer);
};

std::span<const Arch> archs();
// An unknown name is refused with the list of what works.
Expected<const Arch*> find_arch(std::string_view name);

// archs/NAME.cpp
Status read_llama(const Gguf& file, Hparams& hp);
Status bind_llama(TensorBinder& tensors, const Hparams& hp, Layer& layer);
void block_llama(Ops& ops, const Layer& layer);
Status read_qwen2moe(const Gguf& file, Hparams& hp);
Status bind_qwen2moe(TensorBinder& tensors, const Hparams& hp, Layer& layer);
void block_qwen2moe(Ops& ops, const Layer& layer);
Status read_qwen3(const Gguf& file, Hparams& hp);
Status bind_qwen3(TensorBinder& tensors, const Hparams& hp, Layer& layer);
void block_qwen3(Ops& ops, const Layer& layer);
Status read_qwen3moe(const Gguf& file, Hparams& hp);
Status bind_qwen3moe(TensorBinder& tensors, const Hparams& hp, Layer& layer);
void block_qwen3moe(Ops& ops, const Layer& layer);
Status read_qwen35moe(const Gguf& file, Hparams& hp);
Status bind_qwen35moe(TensorBinder& tensors, const Hparams& hp, Layer& layer);
void block_qwen35moe(Ops& ops, const Layer& layer);

}  // namespace ft
