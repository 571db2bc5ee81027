#include "runtime/cts/two_target_blob.h"

#include <gtest/gtest.h>

#include <utility>

#include "blob/sample_file.h"
#include "blob/sample_program.h"
#include "blob/two_target_program.h"
#include "kernels/cpu/arithmetic.h"

namespace firn::runtime::cts {

blob::Blob makeTwoTargetBlob(blob::Target first, blob::Target second) {
  blob::Contents contents = blob::twoTargetContents(first, second);
  contents.ident.arithmeticId = cpu::kArithmeticId;
  const auto file = blob::blobFile(contents, blob::sampleWeights(contents));
  EXPECT_TRUE(file) << file.status().toString();
  auto blob = blob::Blob::fromMemory(*file);
  EXPECT_TRUE(blob) << blob.status().toString();
  return *std::move(blob);
}

}  // namespace firn::runtime::cts
