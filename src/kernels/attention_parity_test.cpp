// Attention over chunks: equal bits in every table, and the softmax-weighted mean it should be.
#include <cstring>

#include "base/bytes.h"
#include "kernels/parity.h"
#include "quant/half.h"

namespace ft {
namespace {

// n rows of `dim` values stored as `type`, with `gap` bytes between rows; nothing behind the last row.
struct Stored {
    std::vector<std::byte> bytes;
    size_t stride;
    std::vector<float> values;  // what was stored, [n, dim]
};

Stored store_rows(KvType type, int n, int dim, size_t gap, Values values, uint64_t seed) {
    const size_t width = type == KvType::f16 ? 2 : 4;
    Stored stored;
    stored.stride = width * static_cast<size_t>(dim) + gap;
    stored.bytes.resize(stored.stride * static_cast<size_t>(n) - gap);
    stored.values = make_row(static_cast<int64_t>(n) * dim, values, seed);
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < dim; ++i) {
            float& value = stored.values[static_cast<size_t>(j) * dim + i];
            std::byte* const at = stored.bytes.data() + static_cast<size_t>(j) * stored.stride + width * i;
            if (type == KvType::f16) {
                const uint16_t half = float_to_half(value);
                store(at, half);
                value = half_to_float(half);
            } else {
                store(at, value);
            }
        }
    }
    return stored;
}

struct Result {
    float m = 0, l = 0;
    std::vector<float> o;
};

Result attend(const Kernels& table, const AttendChunk& chunk, const std::vector<float>& q) {
    Result result;
    result.o.assign(static_cast<size_t>(chunk.dim_v), 7.0f);
    std::vector<float> scratch(512);
    const float scale = 1.0f / std::sqrt(static_cast<float>(chunk.dim_k));
    table.attend_chunk(chunk, q.data(), scale, scratch.data(), &result.m, &result.l, result.o.data());
    return result;
}

struct Shape {
    int dim_k, dim_v;
};

TEST(Attention, EveryTableGivesTheScalarBits) {
    const Shape shapes[] = {{1, 1},   {7, 5},     {8, 8},    {20, 12},  {64, 64},
                            {80, 96}, {128, 128}, {300, 72}, {576, 512}};
    for (const Kernels* table : tables_to_compare()) {
        for (const KvType type : {KvType::f16, KvType::f32}) {
            for (const Values values : k_all_values) {
                for (const Shape shape : shapes) {
                    for (const int n_pos : {1, 2, 7, 8, 9, 31, 33, 100, 128}) {
                        const auto k = store_rows(type, n_pos, shape.dim_k, 6, values, 1);
                        const auto v = store_rows(type, n_pos, shape.dim_v, 0, values, 2);
                        const auto q = make_row(shape.dim_k, values, 3);
                        const AttendChunk chunk{type,     k.bytes.data(), v.bytes.data(), k.stride,
                                                v.stride, shape.dim_k,    shape.dim_v,    n_pos};
                        const Result expected = attend(k_scalar_kernels, chunk, q);
                        const Result result = attend(*table, chunk, q);
                        EXPECT_TRUE(same_bits(result.m, expected.m) && same_bits(result.l, expected.l) &&
                                    n_different(result.o, expected.o) == 0)
                            << table->name << " type " << static_cast<int>(type) << " values "
                            << static_cast<int>(values) << " dims " << shape.dim_k << ", " << shape.dim_v
                            << " positions " << n_pos;
                    }
                }
            }
        }
    }
}

TEST(Attention, QueriesTogetherGiveTheBitsOfEachAlone) {
    const int dim_k = 76, dim_v = 84;
    for (const Kernels* table : tables_to_compare()) {
        for (const KvType type : {KvType::f16, KvType::f32}) {
            for (const Values values : k_all_values) {
                for (const int n_query : {1, 2, 3, 4, 5, 7, 8}) {
                    const auto k = store_rows(type, 100, dim_k, 0, values, 1);
                    const auto v = store_rows(type, 100, dim_v, 6, values, 2);
                    AttendChunk chunk{type,     k.bytes.data(), v.bytes.data(), k.stride,
                                      v.stride, dim_k,          dim_v,          100};
                    std::vector<std::vector<float>> q, o;
                    std::vector<const float*> q_rows;
                    std::vector<float*> o_rows;
                    for (int i = 0; i < n_query; ++i) {
                        q.push_back(make_row(dim_k, values, static_cast<uint64_t>(10 + i)));
                        o.emplace_back(dim_v, 7.0f);
                    }
                    for (auto& row : q) q_rows.push_back(row.data());
                    for (auto& row : o) o_rows.push_back(row.data());
                    const int n_pos[] = {100, 99, 1, 37, 40, 38, 33, 32};
                    std::vector<float> m(8), l(8), scratch(512);
                    const float scale = 1.0f / std::sqrt(static_cast<float>(dim_k));
                    table->attend_queries(chunk, n_query, q_rows.data(), n_pos, scale, scratch.data(),
                                          m.data(), l.data(), o_rows.data());
                    for (int i = 0; i < n_query; ++i) {
                        chunk.n_pos = n_pos[i];
                        const Result expected = attend(k_scalar_kernels, chunk, q[i]);
                        EXPECT_TRUE(same_bits(m[i], expected.m) && same_bits(l[i], expected.l) &&
                                    n_different(o[i], expected.o) == 0)
                            << table->name << " query " << i << " of " << n_query << " values "
                            << static_cast<int>(values);
                    }
                }
            }
        }
    }
}

TEST(Attention, MergeGivesTheScalarBits) {
    for (const Kernels* table : tables_to_compare()) {
        for (const Values values : k_all_values) {
            for (const int dim : {1, 8, 13, 64, 130}) {
                for (uint64_t seed = 0; seed < 40; ++seed) {
                    const auto ml = make_row(4, values, seed);
                    const auto o2 = make_row(dim, values, seed + 100);
                    auto expected_o = make_row(dim, values, seed + 200), o = expected_o;
                    float expected_m = ml[0], expected_l = ml[1], m = ml[0], l = ml[1];
                    k_scalar_kernels.attend_merge(&expected_m, &expected_l, expected_o.data(), ml[2], ml[3],
                                                  o2.data(), dim);
                    table->attend_merge(&m, &l, o.data(), ml[2], ml[3], o2.data(), dim);
                    EXPECT_TRUE(same_bits(m, expected_m) && same_bits(l, expected_l) &&
                                n_different(o, expected_o) == 0)
                        << table->name << " dim " << dim << " seed " << seed;
                }
            }
        }
    }
}

TEST(Attention, ChunksMergedAreTheWeightedMean) {
    const int dim = 40, n_pos = 300;
    for (const KvType type : {KvType::f16, KvType::f32}) {
        const auto k = store_rows(type, n_pos, dim, 0, Values::ordinary, 11);
        const auto v = store_rows(type, n_pos, dim, 0, Values::ordinary, 12);
        const auto q = make_row(dim, Values::ordinary, 13);
        Result whole;
        for (int first = 0; first < n_pos; first += 128) {
            const AttendChunk chunk{type,
                                    k.bytes.data() + k.stride * first,
                                    v.bytes.data() + v.stride * first,
                                    k.stride,
                                    v.stride,
                                    dim,
                                    dim,
                                    std::min(128, n_pos - first)};
            const Result part = attend(k_scalar_kernels, chunk, q);
            if (first == 0) whole = part;
            else
                k_scalar_kernels.attend_merge(&whole.m, &whole.l, whole.o.data(), part.m, part.l,
                                              part.o.data(), dim);
        }
        std::vector<double> mean(dim, 0.0);
        double total = 0;
        for (int j = 0; j < n_pos; ++j) {
            double score = 0;
            for (int i = 0; i < dim; ++i) score += static_cast<double>(q[i]) * k.values[j * dim + i];
            const double weight = std::exp(score / std::sqrt(40.0));
            total += weight;
            for (int i = 0; i < dim; ++i) mean[i] += weight * v.values[j * dim + i];
        }
        for (int i = 0; i < dim; ++i) EXPECT_NEAR(whole.o[i] / whole.l, mean[i] / total, 1e-5);
    }
}

}  // namespace
}  // namespace ft
