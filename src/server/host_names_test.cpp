#include "server/host_names.h"

#include <gtest/gtest.h>

#include <vector>

namespace ft {
namespace {

TEST(HostNames, AddressesAndNamesThatNobodyElseOwns) {
    for (const char* own :
         {"", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "192.168.1.5:8080", "localhost",
          "LocalHost:8080", "localhost.", "x", "freetoken:8080", "my.localhost", "host.docker.internal:8080"})
        EXPECT_TRUE(may_be_called(own, {})) << own;
    for (const char* foreign :
         {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example",
          "evil.example.", "1.2.3.4x.example", "notlocalhost.example", "a.local"})
        EXPECT_FALSE(may_be_called(foreign, {})) << foreign;
}

TEST(HostNames, ThoseOfTheSettings) {
    const std::vector<std::string> names = {"AI.example.com"};
    EXPECT_TRUE(may_be_called("ai.example.com:443", names));
    EXPECT_FALSE(may_be_called("www.example.com", names));
    EXPECT_TRUE(may_be_called("www.example.com", std::vector<std::string>{"*"}));
}

}  // namespace
}  // namespace ft
