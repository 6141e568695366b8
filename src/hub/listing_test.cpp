#include "hub/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/quant_label.h"
#include "hub/server_for_test.h"

namespace ft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string k_digest(64, 'a');

std::string entry(const std::string& path, uint64_t bytes, const std::string& digest = k_digest) {
    return fmt::format(R"({{"type":"file","path":"{0}","size":{1},"lfs":{{"oid":"{2}","size":{1}}}}})", path,
                       bytes, digest);
}

std::string page(const std::vector<std::string>& entries) {
    std::string text = "[";
    for (const std::string& each : entries) text += (text.size() > 1 ? "," : "") + each;
    return text + "]";
}

Repository repository(const std::vector<std::string>& names) {
    Repository r;
    for (const std::string& name : names) r.models.push_back({name, 1'000'000, k_digest});
    return r;
}

std::string chosen(const std::vector<std::string>& names, const std::string& quant,
                   const std::string& file = "") {
    const auto model = choose_model(repository(names), {.file = file, .quant = quant});
    if (!model) return model.error().sentence();
    std::string text;
    for (const ListedFile& each : model->files) text += each.path + " ";
    return text;
}

std::string refusal(const std::string& json) {
    Repository r;
    const Status s = add_tree_page(json, r);
    return s ? "not refused" : s.error().sentence();
}

TEST(QuantLabel, IsReadOffNames) {
    const std::pair<const char*, const char*> cases[] = {
        {"model-q4_k_m.gguf", "Q4_K_M"},
        {"Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"},
        {"UD-Q4_K_XL/Model-UD-Q4_K_XL-00001-of-00003.gguf", "UD-Q4_K_XL"},
        {"Model.IQ2_XXS.gguf", "IQ2_XXS"},
        {"model_q8_0.gguf", "Q8_0"},
        {"gpt-oss-20b-mxfp4.gguf", "MXFP4"},
        {"m-MXFP4_MOE.gguf", "MXFP4_MOE"},
        {"m-BF16.gguf", "BF16"},
        {"m-Q2_K.gguf", "Q2_K"},
        {"m-Q2_K_L.gguf", "Q2_K_L"},
        {"m-iq4_nl.gguf", "IQ4_NL"},
        {"Qwen3.gguf", ""},
        {"faq4_k.gguf", ""},
        {"", ""}};
    for (const auto& [name, label] : cases) EXPECT_EQ(quant_label(name), label) << name;
    EXPECT_EQ(normal_label("q4-k-m"), "Q4_K_M");
    EXPECT_EQ(normal_label("ud-q4_k_xl"), "UD-Q4_K_XL");
    EXPECT_EQ(label_bits("IQ3_XXS"), 3);
    EXPECT_EQ(label_bits("UD-Q4_K_XL"), 4);
    EXPECT_EQ(label_bits("BF16"), 16);
    EXPECT_EQ(label_bits("MXFP4_MOE"), 4);
    EXPECT_EQ(label_bits(""), 0);
}

TEST(Listing, TakesModelsAndLeavesTheRest) {
    Repository r;
    ASSERT_TRUE(add_tree_page(
        page({entry("m-Q4_K_M.gguf", 17), R"({"type":"directory","path":"Q8_0","size":0})",
              entry("Q8_0/m-Q8_0.gguf", 30), entry("mmproj-F16.gguf", 5), entry("model.safetensors", 9),
              entry("../evil.txt", 1), R"({"type":"file","path":"small.gguf","size":7})"}),
        r));
    ASSERT_EQ(r.models.size(), 3u);
    EXPECT_EQ(r.models[1].path, "Q8_0/m-Q8_0.gguf");
    EXPECT_EQ(r.models[0].sha256, k_digest);
    EXPECT_EQ(r.models[2].sha256, "");
    EXPECT_TRUE(r.has_other_weights);
}

TEST(Listing, RefusesTricksWithNames) {
    for (const char* path : {"../x.gguf", "/etc/x.gguf", "a/../../x.gguf", "a//x.gguf", ".ssh/x.gguf",
                             "a\\\\x.gguf", "a\\u0000x.gguf", "a\\nx.gguf", "./x.gguf"})
        EXPECT_THAT(refusal(page({entry(path, 5)})), HasSubstr("Do not trust")) << path;
    EXPECT_THAT(refusal(page({entry(std::string(300, 'x') + ".gguf", 5)})), HasSubstr("too long"));
    EXPECT_EQ(refusal(page({entry("a/b c/x.gguf", 5)})), "not refused");
}

TEST(Listing, RefusesLies) {
    EXPECT_THAT(refusal("<html>"), HasSubstr("no JSON"));
    EXPECT_THAT(refusal("{}"), HasSubstr("no list"));
    EXPECT_THAT(refusal("[1]"), HasSubstr("no file"));
    EXPECT_THAT(refusal(page({entry("x.gguf", 0)})), HasSubstr("size"));
    EXPECT_THAT(refusal(page({entry("x.gguf", uint64_t{1} << 60)})), HasSubstr("size"));
    EXPECT_THAT(refusal(page({R"({"type":"file","path":"x.gguf","size":-5})"})), HasSubstr("size"));
    EXPECT_THAT(refusal(page({R"({"type":"file","path":"x.gguf","size":"5"})"})), HasSubstr("size"));
    EXPECT_THAT(refusal(page({entry("x.gguf", 5, "abc")})), HasSubstr("digest"));
    EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("no JSON"));
    EXPECT_THAT(refusal(std::string(100'000, '[') + std::string(100'000, ']')), HasSubstr("no file"));
}

TEST(Listing, AFileThatIsNamedTwiceIsOneFile) {
    Repository r;
    for (int i = 0; i < 2; i++)  // two pages
        ASSERT_TRUE(add_tree_page(page({entry("b.gguf", 5), entry("a.gguf", 7), entry("b.gguf", 5)}), r));
    ASSERT_EQ(r.models.size(), 2u);
    EXPECT_EQ(r.models[0].path, "b.gguf");
    EXPECT_EQ(r.models[1].bytes, 7u);
    EXPECT_THAT(refusal(page({entry("b.gguf", 5), entry("b.gguf", 6)})), HasSubstr("names b.gguf twice"));
}

TEST(Listing, ManifestOfOllama) {
    const std::string layer = fmt::format(
        R"({{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{}","size":42}})", k_digest);
    const std::string other =
        R"({"mediaType":"application/vnd.ollama.image.params","digest":"sha256:x","size":1})";
    const auto file = parse_manifest(fmt::format(R"({{"layers":[{},{}]}})", other, layer), "latest.gguf");
    ASSERT_TRUE(file) << file.error().sentence();
    EXPECT_EQ(file->bytes, 42u);
    EXPECT_EQ(file->sha256, k_digest);
    for (const std::string& bad : {std::string("[]"), std::string("{}"), std::string(R"({"layers":[]})"),
                                   fmt::format(R"({{"layers":[{0},{0}]}})", layer), std::string("x")})
        EXPECT_FALSE(parse_manifest(bad, "x.gguf")) << bad;
}

TEST(ChooseModel, ByQuantisation) {
    const std::vector<std::string> names = {"m-Q4_K_M.gguf", "m-IQ4_XS.gguf", "m-Q8_0.gguf",
                                            "m-UD-Q5_K_XL.gguf"};
    EXPECT_EQ(chosen(names, ""), "m-Q4_K_M.gguf ");
    EXPECT_EQ(chosen(names, "Q8_0"), "m-Q8_0.gguf ");
    EXPECT_EQ(chosen(names, "Q5_K_XL"), "m-UD-Q5_K_XL.gguf ");
    const std::string said = chosen(names, "Q4_K_S");
    EXPECT_THAT(said, AllOf(HasSubstr("no Q4_K_S"), HasSubstr("Choose by --quant: IQ4_XS (")));
    EXPECT_EQ(chosen({"only-Q8_0.gguf"}, ""), "only-Q8_0.gguf ");
    EXPECT_THAT(chosen({"a-Q8_0.gguf", "a-Q6_K.gguf"}, ""), HasSubstr("no Q4_K_M"));
}

TEST(ChooseModel, ByFileAndAmongSeveral) {
    const std::vector<std::string> names = {"small-Q4_K_M.gguf", "large-Q4_K_M.gguf"};
    EXPECT_THAT(chosen(names, ""),
                AllOf(HasSubstr("--file"), HasSubstr("small-Q4_K_M.gguf"), HasSubstr("large-Q4_K_M.gguf")));
    EXPECT_EQ(chosen(names, "", "large-Q4_K_M.gguf"), "large-Q4_K_M.gguf ");
    EXPECT_THAT(chosen(names, "", "x.gguf"), HasSubstr("no file x.gguf"));
}

TEST(ChooseModel, ASplitModelIsOneModel) {
    const std::string one = "Q4_K_M/m-Q4_K_M-00001-of-00002.gguf",
                      two = "Q4_K_M/m-Q4_K_M-00002-of-00002.gguf";
    EXPECT_EQ(chosen({two, one}, ""), one + " " + two + " ");
    EXPECT_EQ(chosen({two, one}, "", "m-Q4_K_M-00002-of-00002.gguf"), one + " " + two + " ");
    EXPECT_THAT(chosen({two}, ""), HasSubstr("00001-of-00002.gguf is not in the repository"));
}

TEST(ChooseModel, SaysWhatElseIsThere) {
    Repository r;
    r.has_other_weights = true;
    const auto model = choose_model(r, {});
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().sentence(), HasSubstr("GGUF"));
}

TEST(ListRepository, GoesThroughItsPagesOnOneServer) {
    TestServer* self = nullptr;
    TestServer server([&](const TestRequest& request) {
        const bool second = request.path.find("cursor") != std::string::npos;
        return whole_reply(
            "200 OK", page({entry(second ? "b-Q8_0.gguf" : "a-Q4_K_M.gguf", 5)}),
            second ? "" : fmt::format("Link: <{}/api/next?cursor=x>; rel=\"next\"\r\n", self->origin()));
    });
    self = &server;
    const HubServers servers{.hub = server.origin(), .ollama = "", .token = {}};
    const ModelSource source{.owner = "o", .name = "r", .revision = "main"};
    const auto r = list_repository(source, servers);
    ASSERT_TRUE(r) << r.error().sentence();
    EXPECT_EQ(r->models.size(), 2u);
    TestServer elsewhere([](const TestRequest&) {
        return whole_reply("200 OK", "[]", "Link: <http://example.org/next>; rel=\"next\"\r\n");
    });
    const auto away = list_repository(source, {.hub = elsewhere.origin(), .ollama = "", .token = {}});
    ASSERT_FALSE(away);
    EXPECT_THAT(away.error().sentence(), HasSubstr("another server"));
    TestServer endless(
        [](const TestRequest&) { return whole_reply("200 OK", "[]", "Link: </next>; rel=\"next\"\r\n"); });
    const auto never = list_repository(source, {.hub = endless.origin(), .ollama = "", .token = {}});
    ASSERT_FALSE(never);
    EXPECT_THAT(never.error().sentence(), HasSubstr("no end"));
    TestServer large([](const TestRequest&) {
        return "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\nConnection: close\r\n\r\n" +
               std::string(5'000'000, '[');
    });
    const auto much = list_repository(source, {.hub = large.origin(), .ollama = "", .token = {}});
    ASSERT_FALSE(much);
    EXPECT_THAT(much.error().sentence(), HasSubstr("more than"));
}

}  // namespace
}  // namespace ft
