#include "base/hash.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace firn {
namespace {

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// The empty input's hash is published in the test vectors of the xxHash specification.
TEST(Hash128Test, KnownValues) {
  EXPECT_EQ(toHex(hash128({})), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(hash128(bytesOf("firn")), hash128(bytesOf("firm")));
}

TEST(Hash128Test, PiecesGiveTheSameHash) {
  std::vector<std::byte> data(5000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 131 >> 3);
  for (size_t piece : {1U, 7U, 240U, 256U, 1024U, 5000U}) {
    Hasher128 hasher;
    for (size_t at = 0; at < data.size(); at += piece) {
      hasher.update(std::span(data).subspan(at, std::min(piece, data.size() - at)));
    }
    EXPECT_EQ(hasher.digest(), hash128(data)) << piece;
  }
}

}  // namespace
}  // namespace firn
