#include "engine/model_shape.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/thread_pool.h"
#include "model/ops.h"
#include "tiers/plan.h"

namespace ft {
namespace {

struct Bound {
    std::unique_ptr<Gguf> file;
    std::unique_ptr<Model> model;
    ModelShape shape;
};

Bound bind(const std::string& name) {
    const std::string path =
        std::string(FREETOKEN_SOURCE_DIR) + "/tests/goldens/small/" + name + "/model.gguf";
    auto file = Gguf::open(path);
    EXPECT_TRUE(file);
    Bound bound{std::make_unique<Gguf>(std::move(*file)), nullptr, {}};
    auto model = Model::bind(*bound.file);
    EXPECT_TRUE(model);
    bound.model = std::move(*model);
    bound.shape = model_shape(*bound.file, *bound.model, KvTypes{}, reference_kernels(), 2);
    return bound;
}

class EveryShape : public testing::TestWithParam<const char*> {};

TEST_P(EveryShape, CountsEveryByteOfTheFileOnce) {
    const Bound b = bind(GetParam());
    uint64_t tensors = 0, experts = 0, outside = 0;
    for (const TensorInfo& tensor : b.file->tensors()) {
        const auto layer = tensor.name.starts_with("blk.") ? std::stoi(tensor.name.substr(4)) : -1;
        if (layer >= b.model->hp().n_layer) outside += tensor.bytes;
        tensors += tensor.bytes;
        if (layer < b.model->hp().n_layer && tensor.name.find("_exps.") != std::string::npos)
            experts += tensor.bytes;
    }
    EXPECT_EQ(b.shape.expert_bytes(), experts);
    EXPECT_EQ(b.shape.static_bytes() + b.shape.expert_bytes() + outside, tensors);
    EXPECT_EQ(b.shape.kv_bytes(1024), 1024 * b.model->kv_shape(KvTypes{}).bytes_per_token());
    EXPECT_EQ(b.shape.n_experts(), static_cast<int64_t>(b.shape.mixtures.size()) * b.model->hp().n_expert);
    EXPECT_GT(b.shape.active_parameters, 0);
}

// A plan that promised less scratch than a step takes would be killed where memory has a limit.
TEST_P(EveryShape, PlansTheScratchThatIsAllocated) {
    const Bound b = bind(GetParam());
    std::vector<const Kernels*> tables(compiled_kernels().begin(), compiled_kernels().end());
    tables.push_back(&reference_kernels());
    for (const Kernels* kernels : tables)
        for (const int n_thread : {1, 3})
            for (const int n_token : {1, 7, 64}) {
                ThreadPool pool(n_thread);
                const Ops ops(b.model->hp(), b.model->arch().renormalise, *kernels, pool, b.model->rope(),
                              n_token);
                const ModelShape shape = model_shape(*b.file, *b.model, KvTypes{}, *kernels, n_thread);
                const uint64_t logits = static_cast<uint64_t>(b.model->hp().n_vocab) * 17 * sizeof(float);
                EXPECT_EQ(shape.scratch_fixed + static_cast<uint64_t>(n_token) * shape.scratch_per_token,
                          ops.scratch_bytes() + logits)
                    << kernels->name << ", " << n_thread << " threads, " << n_token << " tokens";
            }
}

INSTANTIATE_TEST_SUITE_P(Goldens, EveryShape,
                         testing::Values("llama-kquants", "mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3-f16",
                                         "qwen3moe-q4km", "qwen35moe-q4k", "qwen35moe-mtp-f16"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(ModelShape, AMixedFileHasSeveralSizeClasses) {
    const Bound b = bind("qwen3moe-q4km");
    ASSERT_GE(b.shape.classes.size(), 1u);
    for (const MixtureLayer& layer : b.shape.mixtures)
        EXPECT_EQ(layer.top_k, b.shape.classes[static_cast<size_t>(layer.expert_class)].top_k);
    EXPECT_TRUE(plan({.ram_total = 1ull << 34, .ram_available = 1ull << 34}, b.shape, {}).experts_resident);
}

}  // namespace
}  // namespace ft
