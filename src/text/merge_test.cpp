#include "text/merge.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ft {
namespace {

using Table = std::map<std::pair<int32_t, int32_t>, Join>;

// The definition: look at all pairs, join the first of the best, begin again.
std::vector<int32_t> merged_naively(std::vector<int32_t> ids, const Table& table) {
    for (;;) {
        size_t best = ids.size();
        Join join;
        for (size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto found = table.find({ids[i], ids[i + 1]});
            if (found == table.end() || found->second.priority >= join.priority) continue;
            best = i;
            join = found->second;
        }
        if (best == ids.size()) return ids;
        ids[best] = join.id;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

std::vector<int32_t> merged(Merger& merger, const std::vector<int32_t>& ids, const Table& table) {
    std::vector<Symbol>& symbols = merger.symbols();
    symbols.clear();
    for (size_t i = 0; i < ids.size(); ++i)
        symbols.push_back({.begin = static_cast<uint32_t>(i), .size = 1, .id = ids[i]});
    merger.merge([&](const Symbol& l, const Symbol& r) {
        const auto found = table.find({l.id, r.id});
        return found == table.end() ? Join{} : found->second;
    });
    std::vector<int32_t> out;
    uint32_t covered = 0;
    for (int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
        EXPECT_EQ(symbols[static_cast<size_t>(i)].begin, covered);
        covered += symbols[static_cast<size_t>(i)].size;
        out.push_back(symbols[static_cast<size_t>(i)].id);
    }
    EXPECT_EQ(covered, ids.size());
    return out;
}

// Random tables, in which a later token may join before the pairs it is made of, and priorities may be equal.
TEST(Merge, AgreesWithTheDefinition) {
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const int n_letters = 1 + static_cast<int>(random() % 3);
        const int n_joins = static_cast<int>(random() % 40);
        Table table;
        for (int i = 0; i < n_joins; ++i) {
            const auto left = static_cast<int32_t>(random() % static_cast<uint32_t>(n_letters + i));
            const auto right = static_cast<int32_t>(random() % static_cast<uint32_t>(n_letters + i));
            table.try_emplace({left, right}, Join{static_cast<uint32_t>(random() % 20), n_letters + i});
        }
        Merger merger(20);  // used again and again, as for the words of a text
        for (const size_t length : {0, 1, 2, 3, 7, 31, 32, 33, 34, 100, 400}) {
            std::vector<int32_t> ids(length);
            for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<uint32_t>(n_letters));
            ASSERT_EQ(merged(merger, ids, table), merged_naively(ids, table)) << round << " " << length;
        }
    }
}

TEST(Merge, OneLetterALongTime) {
    Table table;
    for (int32_t i = 0; i < 10; ++i) table[{i, i}] = {static_cast<uint32_t>(i), i + 1};
    Merger merger(10);
    const std::vector<int32_t> out = merged(merger, std::vector<int32_t>((1 << 17) + 3, 0), table);
    EXPECT_EQ(out.size(), 128u + 2u);  // 2^17 = 128 * 2^10, then 2 + 1
    EXPECT_EQ(out.front(), 10);
    EXPECT_EQ(out.back(), 0);
}

}  // namespace
}  // namespace ft
