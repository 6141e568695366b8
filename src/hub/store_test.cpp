#include "hub/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hub/part_file.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class StoreTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "freetoken-store-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    void put(const std::string& path, const std::string& text = "GGUF") const {
        fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
        std::ofstream(folder_ + "/" + path) << text;
    }
    std::string at(const std::string& path) const { return folder_ + "/" + path; }
    static std::vector<std::string> names(const std::vector<StoredModel>& models) {
        std::vector<std::string> out;
        for (const StoredModel& model : models)
            out.push_back(model.name + (model.complete ? "" : " unfinished"));
        return out;
    }

    std::string folder_;
};

TEST_F(StoreTest, OurOwnModels) {
    put("s/o/r/m-Q4_K_M.gguf", "12345");
    put("s/o/r/m-Q8_0-00001-of-00002.gguf", "123");
    put("s/o/r/m-Q8_0-00002-of-00002.gguf", "45");
    put("s/o/r/broken-00001-of-00002.gguf");
    put("s/o/r/mmproj-F16.gguf");
    put("s/o/r/notes.txt");
    put("s/ollama/library/qwen3/30b.gguf");
    put("s/ollama/someone/x/latest.gguf");
    put("s/url/example.org/a.gguf");
    const auto models = own_models(at("s/"));
    EXPECT_THAT(names(models), ElementsAre("o/r/m-Q4_K_M", "o/r/m-Q8_0", "qwen3:30b", "someone/x:latest",
                                           "url/example.org/a"));
    EXPECT_EQ(models[1].bytes, 5u);
    EXPECT_EQ(models[1].files.size(), 2u);
    EXPECT_EQ(models[1].path(), at("s/o/r/m-Q8_0-00001-of-00002.gguf"));
    EXPECT_TRUE(own_models(at("absent")).empty());
    EXPECT_TRUE(own_models(at("s/o/r/notes.txt")).empty());
}

TEST_F(StoreTest, AnUnfinishedDownloadIsListedAsThat) {
    {
        auto file = PartFile::open(
            {.url = "http://x", .path = at("s/o/r/m.gguf"), .bytes = 100, .word = "o/r --quant q4_k_m"}, 30);
        ASSERT_TRUE(file && file->finish_chunk(1, 7));
    }
    const auto models = own_models(at("s"));
    ASSERT_THAT(names(models), ElementsAre("o/r/m unfinished"));
    EXPECT_EQ(models[0].word, "o/r --quant q4_k_m");
    EXPECT_EQ(models[0].done, 30u);
    EXPECT_EQ(models[0].bytes, 100u);
    // one that is fetched anew beside the old one is as good as before
    put("s/o/r/m.gguf");
    EXPECT_THAT(names(own_models(at("s"))), ElementsAre("o/r/m"));
}

TEST_F(StoreTest, ModelsOfOtherPrograms) {
    const std::string digest(64, 'a'), other(64, 'b');
    const auto manifest = [](const std::string& sha, int bytes) {
        return fmt::format(
            R"({{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{}","size":{}}}]}})",
            sha, bytes);
    };
    put("ollama/manifests/registry.ollama.ai/library/qwen3/30b", manifest(digest, 4));
    put("ollama/manifests/registry.ollama.ai/someone/x/latest", manifest(digest, 4));
    put("ollama/manifests/hf.co/o/r/Q4_K_M", manifest(digest, 5));  // not the blob's size
    put("ollama/manifests/hf.co/o/r/Q8_0", manifest(other, 4));     // no such blob
    put("ollama/manifests/hf.co/o/r/broken", "{");
    put("ollama/blobs/sha256-" + digest);
    put("lm/o/r/m-Q4_K_M.gguf");
    put("llama/o_r_m-Q4_K_M.gguf");
    put("llama/o_r_x.gguf.downloadInProgress");
    put("hf/models--o--r-GGUF/blobs/abc");
    put("hf/models--o--r-GGUF/refs/main", "rev1\n");
    fs::create_directories(at("hf/models--o--r-GGUF/snapshots/rev1"));
    fs::create_symlink("../../blobs/abc", at("hf/models--o--r-GGUF/snapshots/rev1/m-Q6_K.gguf"));
    put("hf/models--o--evil/refs/main", "../../..");
    const ForeignFolders folders{.ollama = {at("ollama"), at("none")},
                                 .lm_studio = {at("lm")},
                                 .llama_cpp = at("llama"),
                                 .hugging_face = at("hf")};
    const auto models = foreign_models(folders);
    EXPECT_THAT(names(models), ElementsAre("ollama:qwen3:30b", "lm-studio:o/r/m-Q4_K_M",
                                           "llama.cpp:o_r_m-Q4_K_M", "huggingface:o/r-GGUF/m-Q6_K"));
    EXPECT_EQ(models[0].path(), at("ollama/blobs/sha256-" + digest));
}

TEST_F(StoreTest, NamesAreWholeOrUnique) {
    std::vector<StoredModel> models;
    const std::pair<const char*, Keeper> given[] = {
        {"unsloth/Qwen3-30B-GGUF/Qwen3-30B-Q4_K_M", Keeper::ours},
        {"unsloth/Qwen3-30B-GGUF/Qwen3-30B-Q8_0", Keeper::ours},
        {"bart/Mixtral-GGUF/Mixtral-Q4_K_M", Keeper::ours},
        {"lm-studio:bart/Mixtral-GGUF/Mixtral-Q4_K_M", Keeper::lm_studio},
        {"ollama:qwen3:latest", Keeper::ollama},
        {"ollama:qwen3:4b", Keeper::ollama}};
    for (const auto& [name, keeper] : given)
        models.push_back({.name = name, .keeper = keeper, .files = {name}});
    const auto found = [&](std::string_view word) {
        const auto model = find_model(word, models);
        return model ? model->name : model.error().sentence();
    };
    EXPECT_EQ(found("qwen3-30b-q8_0"), models[1].name);
    EXPECT_EQ(found("Qwen3-30B-Q4_K_M.gguf"), models[0].name);
    EXPECT_EQ(found("Qwen3-30B-GGUF/Qwen3-30B-Q4_K_M"), models[0].name);
    EXPECT_EQ(found("unsloth/Qwen3-30B-GGUF:q4_k_m"), models[0].name);
    EXPECT_EQ(found("bart/Mixtral-GGUF"), models[2].name);
    EXPECT_EQ(found("mixtral-q4_k_m"), models[2].name);  // ours before others
    EXPECT_EQ(found("lm-studio:bart/Mixtral-GGUF/Mixtral-Q4_K_M"), models[3].name);
    EXPECT_EQ(found("qwen3"), models[4].name);
    EXPECT_EQ(found("qwen3:4b"), models[5].name);
    EXPECT_THAT(found("unsloth/Qwen3-30B-GGUF"),
                AllOf(HasSubstr("2 models fit"), HasSubstr(models[0].name), HasSubstr(models[1].name)));
    EXPECT_THAT(found("qwen3-30"), AllOf(HasSubstr("no model has this name"), HasSubstr("Near: unsloth/")));
    EXPECT_THAT(found("mixtrl-q4_k_m"), HasSubstr("Did you mean"));
    EXPECT_THAT(found("30b"), HasSubstr("no model has this name"));
    EXPECT_THAT(found(""), HasSubstr("no model"));
}

TEST_F(StoreTest, RemovesItsOwnAndTheFoldersThatAreEmptyThen) {
    put("s/o/r/m-00001-of-00002.gguf");
    put("s/o/r/m-00002-of-00002.gguf");
    put("s/o/other/x.gguf");
    put("s/o/r/x.gguf.part");
    put("s/o/r/x.gguf.part.ranges");
    auto models = own_models(at("s"));
    ASSERT_THAT(names(models), ElementsAre("o/other/x", "o/r/m", "o/r/x unfinished"));
    ASSERT_TRUE(remove_model(at("s"), models[1]));
    EXPECT_TRUE(fs::exists(at("s/o/r")));
    ASSERT_TRUE(remove_model(at("s"), models[2]));
    EXPECT_FALSE(fs::exists(at("s/o/r")));
    ASSERT_TRUE(remove_model(at("s"), models[0]));
    EXPECT_TRUE(fs::exists(at("s")));
    EXPECT_FALSE(fs::exists(at("s/o")));
}

TEST_F(StoreTest, WhatIsBeingDownloadedStays) {
    const auto file = PartFile::open({.url = "http://x", .path = at("s/o/r/m.gguf"), .bytes = 100}, 30);
    ASSERT_TRUE(file);
    const auto models = own_models(at("s"));
    ASSERT_EQ(models.size(), 1u);
    const Status s = remove_model(at("s"), models[0]);
    ASSERT_FALSE(s);
    EXPECT_THAT(s.error().sentence(), HasSubstr("being downloaded"));
    EXPECT_TRUE(fs::exists(at("s/o/r/m.gguf.part")));
}

TEST_F(StoreTest, LinkedFoldersAreNotEntered) {
    put("outside/x.gguf");
    fs::create_directories(at("s/o"));
    fs::create_directory_symlink(at("outside"), at("s/o/link"));
    EXPECT_TRUE(own_models(at("s")).empty());
}

TEST_F(StoreTest, WhereASourceGoes) {
    EXPECT_EQ(store_path("/s", {.kind = ModelSource::Kind::hub, .owner = "o", .name = "r"}, "Q4/m.gguf"),
              "/s/o/r/Q4/m.gguf");
    EXPECT_EQ(store_path("/s", {.kind = ModelSource::Kind::hub, .owner = "ollama", .name = "r"}, "m.gguf"),
              "/s/hub/ollama/r/m.gguf");
    EXPECT_EQ(
        store_path("/s", {.kind = ModelSource::Kind::ollama, .owner = "library", .name = "q"}, "4b.gguf"),
        "/s/ollama/library/q/4b.gguf");
    EXPECT_EQ(
        store_path("/s", {.kind = ModelSource::Kind::url, .url = "https://Example.org/a/m.gguf"}, "m.gguf"),
        "/s/url/example.org/m.gguf");
}

}  // namespace
}  // namespace ft
