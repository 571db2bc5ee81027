#include "compiler/import/ggml_types.h"

#include <gtest/gtest.h>

namespace firn::import {
namespace {

/// The types of base/dtype.h, and how many of them GGUF has.
TEST(GgmlTypesTest, AgreeWithTheElementTypes) {
  int shared = 0;
  for (uint8_t number = 0; const DTypeInfo* info = dtypeInfo(static_cast<DType>(number)); ++number) {
    if (info->ggmlType < 0) continue;
    const GgmlType* type = ggmlType(static_cast<uint32_t>(info->ggmlType));
    ASSERT_NE(type, nullptr) << info->name;
    EXPECT_EQ(type->name, info->name);
    EXPECT_EQ(type->blockElements, info->blockElements) << info->name;
    EXPECT_EQ(type->blockBytes, info->blockBytes) << info->name;
    EXPECT_EQ(dtypeFromGgml(info->ggmlType), info) << info->name;
    ++shared;
  }
  EXPECT_GE(shared, 13);
}

TEST(GgmlTypesTest, AreTheElementTypesOfTheirNames) {
  constexpr uint32_t kBeyond = 64;
  for (uint32_t number = 0; number < kBeyond; ++number) {
    const GgmlType* type = ggmlType(number);
    const DTypeInfo* info = dtypeFromGgml(number);
    if (type == nullptr) {
      EXPECT_EQ(info, nullptr) << number;
      continue;
    }
    EXPECT_EQ(type->number, number);
    for (uint8_t known = 0; const DTypeInfo* row = dtypeInfo(static_cast<DType>(known)); ++known) {
      EXPECT_EQ(row->name == type->name, row == info) << type->name << " and " << row->name;
    }
  }
}

}  // namespace
}  // namespace firn::import
