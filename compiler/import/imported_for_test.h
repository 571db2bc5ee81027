// A GGUF file in memory, imported. Only for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/import/gguf_writer_for_test.h"
#include "compiler/import/import.h"

namespace firn::import {

/// A file in memory that lives as long as its spec is looked at.
struct Imported {
  ByteVector bytes;
  Result<ModelSpec> spec = internalError("not imported");

  explicit Imported(const GgufWriter& writer) : bytes(writer.bytes()) {
    const Result<GgufFile> file = GgufFile::fromMemory(bytes, "tiny.gguf");
    if (!file.isOk()) {
      spec = file.status();
    } else {
      spec = importModel(*file);
    }
  }
};

/// Why the file is refused, or "accepted".
inline std::string refusal(const GgufWriter& writer) {
  const Imported imported(writer);
  if (imported.spec.isOk()) return "accepted";
  EXPECT_THAT(imported.spec.status().message(), testing::HasSubstr("tiny.gguf"));
  return imported.spec.status().toString();
}

}  // namespace firn::import
