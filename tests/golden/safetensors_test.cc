#include "tests/golden/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <fstream>
#include <string>

namespace firn::golden {
namespace {

using testing::ElementsAre;

std::string writeFile(const std::string& header, const std::string& data, uint64_t headerBytes) {
  std::string path =
      testing::TempDir() + "safetensors_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(std::bit_cast<std::array<char, 8>>(headerBytes).data(), 8);
  file << header << data;
  return path;
}

std::string writeFile(const std::string& header, const std::string& data) {
  return writeFile(header, data, header.size());
}

TEST(SafetensorsTest, ReadsTensorsByName) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"__metadata__":{"x":"y"}})";
  const std::string data("\0\0\x80\x3F\0\0\0\xC0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
  Result<Safetensors> file = Safetensors::open(writeFile(header, data));
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  EXPECT_THAT(file->shape("a"), ElementsAre(1, 2));
  EXPECT_THAT(*file->floats("a"), ElementsAre(1, -2));
  EXPECT_THAT(*file->integers("b"), ElementsAre(-2));
  EXPECT_EQ(file->floats("b").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(file->floats("c").status().code(), Code::kNotFound);
}

TEST(SafetensorsTest, RefusesWhatLiesOutsideTheFile) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(Safetensors::open(writeFile(header, "1234567")).status().code(), Code::kCorrupt);
  EXPECT_EQ(Safetensors::open(writeFile(header, "12345678", 4000)).status().code(), Code::kCorrupt);
  EXPECT_EQ(Safetensors::open(writeFile("{\"a\":[]}", "")).status().code(), Code::kCorrupt);
  EXPECT_EQ(Safetensors::open(writeFile("{", "")).status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace firn::golden
