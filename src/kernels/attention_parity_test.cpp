// Attention over chunks: equal bits in every table, and the softmax-weighted mean it should be.
#include <cstring>

#include "base/buffer.h"
#include "base/bytes.h"
#include "kernels/parity.h"
#include "quant/half.h"
#include "quant/stored_blocks.h"

namespace ft {
namespace {

constexpr KvType k_types[] = {KvType::f16, KvType::f32, KvType::q8_0, KvType::q4_0};

// n rows of `dim` values stored as `type`, with `gap` bytes between rows; nothing behind the last row.
struct Stored {
    std::vector<std::byte> bytes;
    size_t stride;
    std::vector<float> values;  // what was stored, [n, dim]
};

void store_row(KvType type, std::span<float> row, std::byte* at) {
    const auto n = static_cast<int64_t>(row.size());
    if (type == KvType::q8_0 || type == KvType::q4_0) {
        (type == KvType::q8_0 ? store_q8_0 : store_q4_0)(row.data(), n, at);
        type_info(type == KvType::q8_0 ? QuantType::Q8_0 : QuantType::Q4_0).dequantise(at, row.data(), n);
        return;
    }
    for (size_t i = 0; i < row.size(); ++i) {
        if (type == KvType::f32) {
            store(at + 4 * i, row[i]);
        } else {
            store(at + 2 * i, float_to_half(row[i]));
            row[i] = half_to_float(float_to_half(row[i]));
        }
    }
}

size_t row_bytes(KvType type, int dim) {
    const auto n = static_cast<size_t>(dim);
    return type == KvType::f16   ? 2 * n
           : type == KvType::f32 ? 4 * n
                                 : n / 32 * (type == KvType::q8_0 ? 34 : 18);
}

Stored store_rows(KvType type, int n, int dim, size_t gap, Values values, uint64_t seed) {
    Stored stored;
    stored.stride = row_bytes(type, dim) + gap;
    stored.bytes.resize(stored.stride * static_cast<size_t>(n) - gap);
    stored.values = make_row(static_cast<int64_t>(n) * dim, values, seed);
    for (int j = 0; j < n; ++j)
        store_row(type,
                  std::span(stored.values).subspan(static_cast<size_t>(j) * dim, static_cast<size_t>(dim)),
                  stored.bytes.data() + static_cast<size_t>(j) * stored.stride);
    return stored;
}

struct Result {
    float m = 0, l = 0;
    std::vector<float> o;
};

// What a query looks at: [0, sinks) and [first, end).
struct Sight {
    int sinks, first, end;
};

// Queries together, as the table computes them.
std::vector<Result> attend(const Kernels& table, const AttendChunk& chunk,
                           const std::vector<std::vector<float>>& q, const std::vector<Sight>& sights) {
    const size_t n = q.size();
    std::vector<Buffer<std::byte>> blobs;
    std::vector<AttendQuery> queries;
    std::vector<Result> results(n);
    std::vector<float*> o;
    for (size_t i = 0; i < n; ++i) {
        queries.push_back({q[i].data(), nullptr, sights[i].sinks, sights[i].first, sights[i].end});
        if (chunk.type_k == KvType::q8_0 || chunk.type_k == KvType::q4_0) {
            blobs.emplace_back(table.act_bytes(ActKind::q8_32, chunk.dim_k));
            table.quantise(ActKind::q8_32, q[i].data(), chunk.dim_k, blobs.back().data());
            queries.back().act = blobs.back().data();
        }
        results[i].o.assign(static_cast<size_t>(chunk.dim_v), 7.0f);
        o.push_back(results[i].o.data());
    }
    std::vector<float> scratch(512), m(n), l(n);
    const float scale = 1.0f / std::sqrt(static_cast<float>(chunk.dim_k));
    table.attend(chunk, static_cast<int>(n), queries.data(), scale, scratch.data(), m.data(), l.data(),
                 o.data());
    for (size_t i = 0; i < n; ++i) {
        results[i].m = m[i];
        results[i].l = l[i];
    }
    return results;
}

Result attend_all(const Kernels& table, const AttendChunk& chunk, const std::vector<float>& q) {
    return attend(table, chunk, {q}, {{0, 0, chunk.n_pos}})[0];
}

bool same(const Result& a, const Result& b) {
    return same_bits(a.m, b.m) && same_bits(a.l, b.l) && n_different(a.o, b.o) == 0;
}

struct HeadDims {
    int dim_k, dim_v;
};

bool stores(KvType type, int dim) { return type == KvType::f16 || type == KvType::f32 || dim % 32 == 0; }

AttendChunk chunk_of(KvType type_k, KvType type_v, const Stored& k, const Stored& v, HeadDims shape,
                     int n_pos) {
    return {type_k,   type_v,      k.bytes.data(), v.bytes.data(), k.stride,
            v.stride, shape.dim_k, shape.dim_v,    n_pos};
}

TEST(Attention, EveryTableGivesTheScalarBits) {
    const HeadDims shapes[] = {{1, 1},   {7, 5},     {8, 8},    {20, 12},   {32, 96},  {64, 64},
                               {80, 96}, {128, 128}, {300, 72}, {288, 160}, {576, 512}};
    for (const Kernels* table : tables_to_compare())
        for (const KvType type_k : k_types)
            for (const KvType type_v : {type_k, KvType::q8_0, KvType::q4_0})
                for (const Values values : k_all_values)
                    for (const HeadDims shape : shapes) {
                        if (!stores(type_k, shape.dim_k) || !stores(type_v, shape.dim_v)) continue;
                        for (const int n_pos : {1, 9, 33, 128}) {
                            if (n_pos > 33 && shape.dim_k > 128) continue;  // slow, and shows nothing more
                            const auto k = store_rows(type_k, n_pos, shape.dim_k, 6, values, 1);
                            const auto v = store_rows(type_v, n_pos, shape.dim_v, 0, values, 2);
                            const auto q = make_row(shape.dim_k, values, 3);
                            const AttendChunk chunk = chunk_of(type_k, type_v, k, v, shape, n_pos);
                            EXPECT_TRUE(
                                same(attend_all(*table, chunk, q), attend_all(k_scalar_kernels, chunk, q)))
                                << table->name << " types " << static_cast<int>(type_k) << ", "
                                << static_cast<int>(type_v) << " values " << static_cast<int>(values)
                                << " dims " << shape.dim_k << ", " << shape.dim_v << " positions " << n_pos;
                        }
                    }
}

TEST(Attention, QueriesTogetherGiveTheBitsOfEachAlone) {
    const std::vector<Sight> all_sights = {{0, 0, 100}, {0, 0, 99},  {0, 0, 1},   {3, 20, 37}, {4, 90, 100},
                                           {5, 38, 38}, {0, 33, 34}, {1, 31, 32}, {0, 5, 90}};
    for (const Kernels* table : tables_to_compare())
        for (const KvType type : k_types)
            for (const Values values : k_all_values)
                for (const int n_query : {1, 2, 3, 4, 5, 7, 8, 9}) {
                    const HeadDims shape =
                        type == KvType::f16 || type == KvType::f32 ? HeadDims{76, 84} : HeadDims{96, 160};
                    const auto k = store_rows(type, 100, shape.dim_k, 0, values, 1);
                    const auto v = store_rows(type, 100, shape.dim_v, 6, values, 2);
                    const AttendChunk chunk = chunk_of(type, type, k, v, shape, 100);
                    std::vector<std::vector<float>> q;
                    for (int i = 0; i < n_query; ++i)
                        q.push_back(make_row(shape.dim_k, values, static_cast<uint64_t>(10 + i)));
                    const auto results =
                        attend(*table, chunk, q, {all_sights.begin(), all_sights.begin() + n_query});
                    for (int i = 0; i < n_query; ++i)
                        EXPECT_TRUE(
                            same(results[i], attend(k_scalar_kernels, chunk, {q[i]}, {all_sights[i]})[0]))
                            << table->name << " type " << static_cast<int>(type) << " query " << i << " of "
                            << n_query << " values " << static_cast<int>(values);
                }
}

// What a query does not see might as well be anything.
TEST(Attention, PositionsOutOfSightCannotBeSeen) {
    const HeadDims shape{64, 64};
    const Sight sight{4, 50, 80};
    for (const Kernels* table : tables_to_compare())
        for (const KvType type : k_types) {
            auto k = store_rows(type, 100, shape.dim_k, 0, Values::ordinary, 1);
            auto v = store_rows(type, 100, shape.dim_v, 0, Values::ordinary, 2);
            const auto q = make_row(shape.dim_k, Values::ordinary, 3);
            const AttendChunk chunk = chunk_of(type, type, k, v, shape, 100);
            const Result before = attend(*table, chunk, {q}, {sight})[0];
            for (int j = 0; j < 100; ++j)
                if (j >= sight.end || (j >= sight.sinks && j < sight.first))
                    for (Stored* rows : {&k, &v})
                        std::fill_n(rows->bytes.begin() + static_cast<int64_t>(rows->stride) * j,
                                    rows->stride, std::byte{0xff});  // NaN, or a NaN scale
            EXPECT_TRUE(same(attend(*table, chunk, {q}, {sight})[0], before))
                << table->name << " type " << static_cast<int>(type);
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
                                    type,
                                    k.bytes.data() + k.stride * first,
                                    v.bytes.data() + v.stride * first,
                                    k.stride,
                                    v.stride,
                                    dim,
                                    dim,
                                    std::min(128, n_pos - first)};
            const Result part = attend_all(k_scalar_kernels, chunk, q);
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
