// Blobs that lie with a right hash. Only for tests.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blob/extent.h"
#include "blob/frame.h"
#include "blob/reader.h"
#include "blob/sample_program.h"
#include "blob/verifier.h"

namespace firn::blob {

/// The bytes of a sample blob, to be spoiled.
class Editor {
 public:
  explicit Editor(Target target, std::optional<DType> kvType = std::nullopt)
      : Editor(*sampleBlob(target, SampleSize::kFull, kvType)) {}
  explicit Editor(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
    const auto blob = Blob::fromMemory(bytes_);
    EXPECT_TRUE(blob.isOk());
    frame_ = blob->frame();
  }

  ProgramHeader& header() { return *reinterpret_cast<ProgramHeader*>(section(SectionId::kProgram)); }
  EntryRecord& entry(size_t i) { return record<EntryRecord>(header().entries, i); }
  CallRecord& call(size_t i) { return record<CallRecord>(header().calls, i); }
  uint64_t& arg(size_t i) { return record<uint64_t>(header().callArgs, i); }
  BodyRecord& body(size_t i) { return record<BodyRecord>(header().bodies, i); }
  ParamRecord& param(size_t i) { return record<ParamRecord>(header().params, i); }
  SegmentRecord& segment(size_t i) { return record<SegmentRecord>(header().segments, i); }
  LaneRange& range(size_t i) { return record<LaneRange>(header().laneRanges, i); }
  SymbolRecord& symbol(size_t i) { return record<SymbolRecord>(header().symbols, i); }
  /// Of the batch entry, which is the last.
  SymbolRecord& batchSymbol(size_t i) { return symbol(entry(4).firstSymbol + i); }
  char& string(size_t i) { return record<char>(header().strings, i); }
  TaskRecord& task(size_t i) { return record<TaskRecord>(header().tasks, i); }

  /// The first task of that op.
  TaskRecord& task(TaskOp op) {
    for (size_t i = 0; i < header().tasks.count; ++i) {
      if (task(i).op == static_cast<uint16_t>(op)) return task(i);
    }
    ADD_FAILURE() << "no task " << taskOpName(op);
    return task(size_t{0});
  }
  OperandRecord& operandOf(const TaskRecord& task, size_t i) {
    return record<OperandRecord>(header().operands, task.firstOperand + i);
  }
  /// Behind the attributes stand the barriers.
  uint64_t& attrOf(const TaskRecord& task, size_t i) { return record<uint64_t>(header().attrs, task.firstAttr + i); }
  OperandRecord& operand(TaskOp op, size_t i) { return operandOf(task(op), i); }
  /// Of the first task of a body.
  OperandRecord& firstOperand(size_t bodyIndex, size_t i) {
    const SegmentRecord& first = segment(body(bodyIndex).firstSegment);
    return record<OperandRecord>(header().operands, task(range(first.firstRange).firstTask).firstOperand + i);
  }
  /// Makes the bytes of operands those of their dims and strides, so that they are not what is wrong.
  void fit(TaskOp op, std::initializer_list<size_t> operands) {
    for (const size_t i : operands) operand(op, i).bytes = operandBytes(operand(op, i)).value();
  }
  uint64_t& attr(TaskOp op, size_t i) { return attrOf(task(op), i); }

  void editIdent(const std::function<void(Ident&)>& edit) {
    std::byte* at = section(SectionId::kNote) + kNoteDescriptorOffset;
    Ident ident;
    std::memcpy(&ident, at, sizeof(ident));
    edit(ident);
    std::memcpy(at, &ident, sizeof(ident));
  }

  std::byte* section(SectionId id) { return bytes_.data() + frame_.place(id).offset; }
  Elf64_Ehdr& elfHeader() { return *reinterpret_cast<Elf64_Ehdr*>(bytes_.data()); }
  Elf64_Shdr& sectionHeader(SectionId id) {
    return reinterpret_cast<Elf64_Shdr*>(bytes_.data() + kElfHeaderBytes)[sectionIndex(frame_, id)];
  }

  /// What a reader says once the hash is right again.
  Status read() {
    FIRN_RETURN_IF_ERROR(sealContent(bytes_));
    return readAsIs();
  }
  Status readAsIs() { return Blob::fromMemory(bytes_).status(); }

 private:
  template <typename Record>
  Record& record(const Table& table, size_t i) {
    return reinterpret_cast<Record*>(section(SectionId::kProgram) + table.offset)[i];
  }

  std::vector<std::byte> bytes_;
  Frame frame_;
};

struct Lie {
  std::string_view expected;  ///< part of the message
  std::function<void(Editor&)> tell;
};

inline void expectMessage(const Status& status, std::string_view expected) {
  ASSERT_FALSE(status.isOk()) << expected;
  EXPECT_NE(status.message().find(expected), std::string::npos) << expected << ", found: " << status.toString();
}

/// Every lie that is told of `blob` is refused, by a message that names the record.
inline void expectRefused(const Editor& blob, const std::vector<Lie>& lies) {
  ASSERT_TRUE(Editor(blob).read().isOk());
  for (size_t i = 0; i < lies.size(); ++i) {
    Editor editor = blob;
    lies[i].tell(editor);
    const Status status = editor.read();
    ASSERT_FALSE(status.isOk()) << "lie " << i << ": " << lies[i].expected;
    EXPECT_NE(status.message().find(lies[i].expected), std::string::npos)
        << "lie " << i << " expects '" << lies[i].expected << "', found: " << status.toString();
  }
}

inline void expectRefused(Target target, const std::vector<Lie>& lies, std::optional<DType> kvType = std::nullopt) {
  expectRefused(Editor(target, kvType), lies);
}

}  // namespace firn::blob
