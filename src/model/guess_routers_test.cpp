#include "model/guess_routers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ft {
namespace {

constexpr int64_t k_columns = 64, k_rows = 5;

// Layers of which the second has no mixture; their routers lie in `values`.
std::vector<Layer> layers_of(std::vector<float>& values, int64_t columns) {
    std::vector<Layer> layers(4);
    values.resize(static_cast<size_t>(4 * k_rows * columns));
    for (size_t i = 0; i < values.size(); i++) values[i] = std::sin(static_cast<float>(i));
    int index = 0;
    for (size_t i = 0; i < layers.size(); i++) {
        if (i == 1) continue;
        layers[i].mixture.index = index++;
        layers[i].mixture.router = {.type = &type_info(QuantType::F32),
                                    .data = reinterpret_cast<const std::byte*>(
                                        values.data() + i * static_cast<size_t>(k_rows * columns)),
                                    .row_bytes = static_cast<size_t>(columns) * sizeof(float),
                                    .n_col = columns,
                                    .n_row = k_rows};
    }
    return layers;
}

std::vector<float> values_of(const Weight& w) {
    std::vector<float> values(static_cast<size_t>(w.n_row * w.n_col));
    for (int64_t r = 0; r < w.n_row; r++)
        w.type->dequantise(w.data + static_cast<size_t>(r) * w.row_bytes, values.data() + r * w.n_col,
                           w.n_col);
    return values;
}

TEST(GuessRouters, SayTheSameInLess) {
    std::vector<float> memory;
    const std::vector<Layer> layers = layers_of(memory, k_columns);
    const GuessRouters routers(layers);
    EXPECT_EQ(GuessRouters::bytes_of(layers), 2u * k_rows * (k_columns / 32 * 34));
    EXPECT_EQ(routers.of(layers[0]).data, layers[0].mixture.router.data);  // nothing guesses for it
    for (const size_t i : {size_t{2}, size_t{3}}) {
        const Weight& copy = routers.of(layers[i]);
        EXPECT_EQ(copy.type->type, QuantType::Q8_0);
        const std::vector<float> is = values_of(copy), was = values_of(layers[i].mixture.router);
        ASSERT_EQ(is.size(), was.size());
        for (size_t k = 0; k < is.size(); k++) EXPECT_NEAR(is[k], was[k], 1.0f / 127);
    }
}

TEST(GuessRouters, RowsOfNoWholeBlocksStayAsTheyAre) {
    std::vector<float> memory;
    const std::vector<Layer> layers = layers_of(memory, 40);
    const GuessRouters routers(layers);
    EXPECT_EQ(GuessRouters::bytes_of(layers), 0u);
    EXPECT_EQ(routers.of(layers[3]).data, layers[3].mixture.router.data);
    EXPECT_EQ(routers.of(layers[3]).type->type, QuantType::F32);
}

}  // namespace
}  // namespace ft
