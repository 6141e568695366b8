#include "cli/serve_access.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cli/settings_for_test.h"

namespace ft::cli {
namespace {

std::string outcome(const std::vector<std::string>& assignments) {
    const auto alone = serves_this_machine_alone(settings_with(assignments));
    if (!alone) return alone.error().what;
    return *alone ? "alone" : "others";
}

TEST(ServeAccess, HostsAreJudgedForWhatTheyAre) {
    EXPECT_EQ(outcome({}), "alone");
    for (const char* own : {"localhost", "::1", "[::1]", "127.0.0.2"})
        EXPECT_EQ(outcome({fmt::format("server.host={}", own)}), "alone") << own;
    for (const char* wrong : {"", "256.1.1.1", "[a,b]"})
        EXPECT_NE(outcome({fmt::format("server.host={}", wrong)}).find("is no address of this machine"),
                  std::string::npos)
            << wrong;
    EXPECT_NE(outcome({"server.host=0.0.0.0"}).find("no key is needed"), std::string::npos);
    EXPECT_EQ(outcome({"server.host=0.0.0.0", "server.allow_without_keys=true"}), "others");
    EXPECT_EQ(outcome({"server.host=0.0.0.0", "server.api_keys_file=/keys"}), "others");
    EXPECT_EQ(outcome({"server.api_keys_file=/keys"}), "others") << "with keys any name will do";
}

TEST(ServeAccess, OriginsAreOrigins) {
    for (const char* good :
         {"http://localhost:3000", "*", "null", R"(["https://app.example", "tauri://localhost"])"})
        EXPECT_EQ(outcome({fmt::format("server.cors_origins={}", good)}), "alone") << good;
    for (const char* wrong : {"{a: b}", "localhost:3000", "http://app.example/", "://x", "http://"})
        EXPECT_NE(outcome({fmt::format("server.cors_origins={}", wrong)}).find(wrong), std::string::npos)
            << wrong;
}

TEST(ServeAccess, TheRoomForRequestsFollowsTheMemory) {
    const RequestRoom room = request_room(settings_with({}));
    EXPECT_EQ(room.bytes(64 * k_gib), 256 * k_mib);
    EXPECT_EQ(room.bytes(2 * k_gib), 64 * k_mib);
    EXPECT_EQ(room.bytes(100 * k_mib), 16 * k_mib);
    EXPECT_EQ(request_room(settings_with({"server.requests_mib=7"})).bytes(64 * k_gib), 7 * k_mib);
}

}  // namespace
}  // namespace ft::cli
