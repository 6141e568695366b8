#include "cli/model_name.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hub/part_file.h"

namespace ft::cli {
namespace {

namespace fs = std::filesystem;

// A store of its own; HOME leads nowhere, so that nothing of the user's is seen.
class ModelNameTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "freetoken-names-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        for (const char* name : k_variables) {
            const char* old = std::getenv(name);
            before_.push_back(old ? std::optional<std::string>(old) : std::nullopt);
            unsetenv(name);
        }
        setenv("HOME", (folder_ + "/home").c_str(), 1);
        put("models/o/r/m-Q4_K_M.gguf");
        settings_ = *load_settings({.assignments = {"model.store=" + folder_ + "/models/"}});
    }
    void TearDown() override {
        for (size_t i = 0; i < before_.size(); i++)
            if (before_[i]) setenv(k_variables[i], before_[i]->c_str(), 1);
            else unsetenv(k_variables[i]);
        fs::remove_all(folder_);
    }
    void put(const std::string& path) const {
        fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
        std::ofstream(folder_ + "/" + path) << "GGUF";
    }
    std::string path_of(const std::string& word) const {
        const auto path = model_path(word, settings_);
        return path ? *path : path.error().sentence();
    }

    static constexpr const char* k_variables[] = {
        "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE", "HF_HUB_CACHE", "HF_HOME"};
    std::string folder_;
    std::vector<std::optional<std::string>> before_;
    Settings settings_;
};

TEST_F(ModelNameTest, ANameIsTheFileOfItsModel) {
    const std::string file = folder_ + "/models/o/r/m-Q4_K_M.gguf";
    for (const char* word :
         {"o/r/m-Q4_K_M", "m-q4_k_m", "m-Q4_K_M.gguf", "o/r", "o/r:q4_k_m", "hf.co/o/r:Q4_K_M"})
        EXPECT_EQ(path_of(word), file) << word;
}

TEST_F(ModelNameTest, AModelIsCalledAsTheListCallsIt) {
    const auto name_of = [&](const std::string& word) {
        const auto model = named_model(word, settings_);
        return model ? model->name : model.error().sentence();
    };
    EXPECT_EQ(name_of("m-q4_k_m"), "o/r/m-Q4_K_M");
    EXPECT_EQ(name_of(folder_ + "/models/o/r/m-Q4_K_M.gguf"), "");
    EXPECT_EQ(name_of("https://example.org/m.gguf"), "");
    put("home/.lmstudio/models/p/q/l-Q4_K_M.gguf");
    EXPECT_EQ(name_of("l-q4_k_m"), "p/q/l-Q4_K_M");
    put("home/.lmstudio/models/o/r/m-Q4_K_M.gguf");
    EXPECT_EQ(name_of("lm-studio:o/r/m-Q4_K_M"), "lm-studio:o/r/m-Q4_K_M");  // ours has the short one
}

TEST_F(ModelNameTest, AFileComesBeforeAName) {
    const fs::path here = fs::current_path();
    fs::create_directories(folder_ + "/work");
    fs::current_path(folder_ + "/work");
    put("work/m-q4_k_m");
    put("work/folder/x");
    EXPECT_EQ(path_of("m-q4_k_m"), "m-q4_k_m");
    EXPECT_EQ(path_of("folder"), "folder");
    fs::create_symlink("/nowhere", "dangling");
    EXPECT_EQ(path_of("dangling"), "dangling");
    fs::current_path(here);
}

TEST_F(ModelNameTest, WhatLooksLikeAPathIsLeftToWhoeverOpensIt) {
    for (const char* word : {"", "absent.gguf", "./absent", "../x", "/absent/x"})
        EXPECT_EQ(path_of(word), word);
    EXPECT_EQ(path_of(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST_F(ModelNameTest, AnAddressIsRefusedAndPullNamed) {
    for (const std::string& said : {path_of("https://example.org/m.gguf?key=s"),
                                    model_path("https://example.org/m.gguf?key=s").error().sentence()}) {
        EXPECT_NE(said.find("https://example.org/m.gguf"), std::string::npos) << said;
        EXPECT_NE(said.find("freetoken pull https://example.org/m.gguf"), std::string::npos) << said;
        EXPECT_NE(said.find("plan"), std::string::npos) << said;
        EXPECT_EQ(said.find("key=s"), std::string::npos) << said;
    }
}

TEST_F(ModelNameTest, AFolderOfSafetensorsIsRefusedAndPullNamed) {
    put("trained/config.json");
    EXPECT_EQ(path_of(folder_ + "/trained"), folder_ + "/trained");
    put("trained/model-00001-of-00002.safetensors");
    for (const std::string& said :
         {path_of(folder_ + "/trained"), model_path(folder_ + "/trained").error().sentence()})
        for (const char* word : {"trained", "safetensors", "freetoken pull"})
            EXPECT_NE(said.find(word), std::string::npos) << said;
}

TEST_F(ModelNameTest, UnknownAndUnfinishedOnesAreSaidSo) {
    EXPECT_NE(path_of("m-q4_k_s").find("Did you mean m-Q4_K_M?"), std::string::npos) << path_of("m-q4_k_s");
    EXPECT_NE(path_of("elephant").find("freetoken list"), std::string::npos);
    {
        auto part = PartFile::open({.url = "http://x",
                                    .path = folder_ + "/models/o/r/big.gguf",
                                    .bytes = 100,
                                    .word = "o/r --file big.gguf"},
                                   30);
        ASSERT_TRUE(part);
    }
    EXPECT_NE(path_of("big").find("Go on with `freetoken pull o/r --file big.gguf`"), std::string::npos)
        << path_of("big");
}

TEST_F(ModelNameTest, TheStoreFollowsTheUsersFolders) {
    const Settings none = *load_settings({});
    EXPECT_EQ(*store_folder(none), folder_ + "/home/.local/share/freetoken/models");
    setenv("XDG_DATA_HOME", "/data", 1);
    EXPECT_EQ(*store_folder(none), "/data/freetoken/models");
    EXPECT_EQ(*store_folder(settings_), folder_ + "/models");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    EXPECT_FALSE(store_folder(none));
}

}  // namespace
}  // namespace ft::cli
