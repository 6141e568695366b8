#include "quant/types.h"

#include "base/bytes.h"
#include "base/check.h"
#include "quant/exact.h"
#include "quant/half.h"

namespace ft {

namespace {

float read_f32(const std::byte* at) { return load<float>(at); }
float read_f16(const std::byte* at) { return half_to_float(load<uint16_t>(at)); }
float read_bf16(const std::byte* at) { return bf16_to_float(load<uint16_t>(at)); }

template <auto read, int bytes>
constexpr TypeInfo floats(QuantType type, const char* name) {
    using Row = FloatRow<read, bytes>;
    return {type, name, 1, bytes, ActKind::f32, Row::dequantise, Row::dot};
}

template <auto decode, int bytes, bool mins = false>
constexpr TypeInfo super_blocks(QuantType type, const char* name) {
    using Row = SuperRow<decode, bytes, mins>;
    return {type, name, k_group, bytes, ActKind::q8_256, Row::dequantise, Row::dot};
}

template <class Block>
Block block_of(void (*)(const uint8_t*, Block&));

template <auto decode, int bytes, bool offsets = false>
constexpr TypeInfo small_blocks(QuantType type, const char* name) {
    using Block = decltype(block_of(decode));
    using Row = SmallRow<Block, decode, bytes, offsets>;
    return {type, name, Block::k_values, bytes, ActKind::q8_32, Row::dequantise, Row::dot};
}

constexpr bool with_mins = true;
constexpr bool with_offsets = true;

constexpr TypeInfo k_types[] = {
    floats<read_f32, 4>(QuantType::F32, "F32"),
    floats<read_f16, 2>(QuantType::F16, "F16"),
    small_blocks<decode_q4_0, 18>(QuantType::Q4_0, "Q4_0"),
    small_blocks<decode_q4_1, 20, with_offsets>(QuantType::Q4_1, "Q4_1"),
    small_blocks<decode_q5_0, 22>(QuantType::Q5_0, "Q5_0"),
    small_blocks<decode_q5_1, 24, with_offsets>(QuantType::Q5_1, "Q5_1"),
    small_blocks<decode_q8_0, 34>(QuantType::Q8_0, "Q8_0"),
    super_blocks<decode_q2_k, 84, with_mins>(QuantType::Q2_K, "Q2_K"),
    super_blocks<decode_q3_k, 110>(QuantType::Q3_K, "Q3_K"),
    super_blocks<decode_q4_k, 144, with_mins>(QuantType::Q4_K, "Q4_K"),
    super_blocks<decode_q5_k, 176, with_mins>(QuantType::Q5_K, "Q5_K"),
    super_blocks<decode_q6_k, 210>(QuantType::Q6_K, "Q6_K"),
    super_blocks<decode_iq2_xxs, 66>(QuantType::IQ2_XXS, "IQ2_XXS"),
    super_blocks<decode_iq2_xs, 74>(QuantType::IQ2_XS, "IQ2_XS"),
    super_blocks<decode_iq3_xxs, 98>(QuantType::IQ3_XXS, "IQ3_XXS"),
    super_blocks<decode_iq1_s, 50>(QuantType::IQ1_S, "IQ1_S"),
    small_blocks<decode_iq4_nl, 18>(QuantType::IQ4_NL, "IQ4_NL"),
    super_blocks<decode_iq3_s, 110>(QuantType::IQ3_S, "IQ3_S"),
    super_blocks<decode_iq2_s, 82>(QuantType::IQ2_S, "IQ2_S"),
    super_blocks<decode_iq4_xs, 136>(QuantType::IQ4_XS, "IQ4_XS"),
    super_blocks<decode_iq1_m, 56>(QuantType::IQ1_M, "IQ1_M"),
    floats<read_bf16, 2>(QuantType::BF16, "BF16"),
    super_blocks<decode_tq1_0, 54>(QuantType::TQ1_0, "TQ1_0"),
    super_blocks<decode_tq2_0, 66>(QuantType::TQ2_0, "TQ2_0"),
    small_blocks<decode_mxfp4, 17>(QuantType::MXFP4, "MXFP4"),
    small_blocks<decode_nvfp4, 36>(QuantType::NVFP4, "NVFP4"),
    small_blocks<decode_q1_0, 18>(QuantType::Q1_0, "Q1_0"),
    small_blocks<decode_q2_0, 18>(QuantType::Q2_0, "Q2_0"),
};

}  // namespace

std::span<const TypeInfo> all_types() { return k_types; }

const TypeInfo* find_type(uint32_t type_number) {
    for (const TypeInfo& info : k_types)
        if (static_cast<uint32_t>(info.type) == type_number) return &info;
    return nullptr;
}

const TypeInfo& type_info(QuantType type) {
    const TypeInfo* info = find_type(static_cast<uint32_t>(type));
    check(info != nullptr, "every QuantType has a row in the table of types");
    return *info;
}

}  // namespace ft
