// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <gtest/gtest.h>

#include <string>

namespace dumphook {
namespace {

struct Good {
  const char* text;
  const char* host;
  uint16_t port;
};

TEST(Address, TakesNamesAndBothKindsOfNumbers) {
  const Good cases[] = {
      {"tcp://10.0.0.2:9000", "10.0.0.2", 9000},
      {"localhost:1", "localhost", 1},
      {"tcp://[::1]:65535", "::1", 65535},
      {"[fe80::1%eth0]:9000", "fe80::1%eth0", 9000},
      {"board-7.lab_2.example:0", "board-7.lab_2.example", 0},
      {"tls://pc:9000", "pc", 9000},
      {"[::ffff:127.0.0.1]:9000", "::ffff:127.0.0.1", 9000},
  };
  for (const Good& good : cases) {
    Address address;
    EXPECT_EQ(parse_address(good.text, &address), nullptr) << good.text;
    EXPECT_STREQ(address.host, good.host);
    EXPECT_EQ(address.port, good.port);
  }
}

TEST(Address, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"", "port is missing"},
      {"pc", "port is missing"},
      {"pc:", "port is missing"},
      {":9000", "host is missing"},
      {"pc:x", "must be a number"},
      {"pc:9000/", "must be a number"},
      {"pc:65536", "at most 65535"},
      {"pc:-1", "must be a number"},
      {"pc: 9", "must be a number"},
      {"::1:9000", "into brackets"},
      {"[::1:9000", "closing bracket"},
      {"[::1]", "port is missing"},
      {"[::1]9000", "port is missing"},
      {"[pc]:9000", "brackets are for"},
      {"a b:1", "character"},
      {"a/b:1", "character"},
      {"[]:1", "host is missing"},
      {"tcp://", "port is missing"},
      {"pc:99999999999999999999", "at most 65535"},
  };
  for (const auto& bad : cases) {
    Address address;
    const char* wrong = parse_address(bad.text, &address);
    ASSERT_NE(wrong, nullptr) << bad.text;
    EXPECT_NE(std::string(wrong).find(bad.says), std::string::npos) << bad.text << ": " << wrong;
  }
  Address address;
  EXPECT_NE(parse_address(nullptr, &address), nullptr);
  EXPECT_NE(parse_address((std::string(300, 'a') + ":1").c_str(), &address), nullptr);
  EXPECT_EQ(parse_address((std::string(255, 'a') + ":1").c_str(), &address), nullptr);
}

bool loopback(const char* text) {
  Address address;
  Endpoints endpoints;
  EXPECT_EQ(parse_address(text, &address), nullptr);
  const char* wrong = resolve(address, false, &endpoints);
  EXPECT_EQ(wrong, nullptr) << text << ": " << wrong;
  return is_loopback(endpoints);
}

TEST(Address, KnowsThisMachine) {
  EXPECT_TRUE(loopback("127.0.0.1:1"));
  EXPECT_TRUE(loopback("127.255.3.4:1"));
  EXPECT_TRUE(loopback("[::1]:1"));
  EXPECT_TRUE(loopback("[::ffff:127.0.0.1]:1"));
  EXPECT_FALSE(loopback("128.0.0.1:1"));
  EXPECT_FALSE(loopback("0.0.0.0:1"));
  EXPECT_FALSE(loopback("[::]:1"));
  EXPECT_FALSE(loopback("[::ffff:10.0.0.1]:1"));
  EXPECT_FALSE(is_loopback(Endpoints()));
}

TEST(Address, FormatsEndpoints) {
  for (const char* text : {"127.0.0.1:9000", "[::1]:80"}) {
    Address address;
    Endpoints endpoints;
    ASSERT_EQ(parse_address(text, &address), nullptr);
    ASSERT_EQ(resolve(address, false, &endpoints), nullptr);
    char formatted[kEndpointTextBytes];
    format_endpoint(endpoints.items[0], formatted, sizeof formatted);
    EXPECT_STREQ(formatted, text);
  }
}

}  // namespace
}  // namespace dumphook
