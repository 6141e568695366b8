#include "kernels/kernels.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>

#include "device/cpu.h"
#include "kernels/avx2/table.h"
#include "kernels/reference/matmul.h"
#include "kernels/scalar/table.h"

namespace ft {
namespace {

bool cpu_has_avx2() {
    const CpuFeatures& cpu = cpu_features();
    return cpu.avx2 && cpu.fma && cpu.f16c && cpu.bmi2;
}

const Kernels& scalar_kernels() { return cpu_features().fma ? k_scalar_kernels_fma : k_scalar_kernels; }

std::string names_of(std::span<const Kernels* const> tables) {
    std::string names;
    for (const Kernels* table : tables) names += fmt::format("{}{}", names.empty() ? "" : ", ", table->name);
    return names;
}

}  // namespace

std::span<const Kernels* const> compiled_kernels() {
    static const std::array<const Kernels*, 2> tables = {&scalar_kernels(), &k_avx2_kernels};
    return std::span(tables).first(cpu_has_avx2() ? 2 : 1);
}

Expected<const Kernels*> find_kernels(std::string_view name) {
    for (const Kernels* table : compiled_kernels())
        if (name == table->name) return table;
    const std::string there = names_of(compiled_kernels());
    if (name == k_avx2_kernels.name)
        return Error{Code::unsupported,
                     "this processor cannot run the avx2 kernels: they need AVX2, FMA, F16C and BMI2",
                     fmt::format("Choose one of: {}", there)};
    return Error{Code::invalid, fmt::format("there are no kernels named '{}'", name),
                 fmt::format("Choose one of: {}", there)};
}

Expected<const Kernels*> choose_kernels() {
    const char* const wanted = std::getenv("FREETOKEN_ISA");
    if (wanted == nullptr || *wanted == '\0') return compiled_kernels().back();
    const Expected<const Kernels*> found = find_kernels(wanted);
    if (!found) return found.error().within(fmt::format("FREETOKEN_ISA={}", wanted));
    return *found;
}

const Kernels& reference_kernels() {
    static const Kernels table = [] {
        Kernels reference = scalar_kernels();
        reference.name = "reference";
        reference.act_kind = [](QuantType) { return ActKind::f32; };
        reference.matmul = cpu_features().fma ? matmul_reference_fma : matmul_reference;
        return reference;
    }();
    return table;
}

}  // namespace ft
