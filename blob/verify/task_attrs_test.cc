// Attributes that are real numbers, of every op: what is no number in f32, or has no meaning there, is refused by name.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "blob/machine/sample_machine_for_test.h"
#include "blob/npu_task_rules.h"
#include "blob/sample_program.h"
#include "blob/task_op_rules.h"
#include "blob/verify/npu_task_verify.h"
#include "blob/verify/task_op_verify.h"

namespace firn::blob {
namespace {

using OpAttr = std::pair<TaskOp, std::string_view>;

/// The attributes of an op of any target; none of a number that is no op.
std::span<const NamedAttr> attrsOf(TaskOp op) {
  if (const TaskOpRule* rule = taskOpRule(op)) return rule->attrs;
  if (const NpuTaskRule* rule = npuTaskRule(op)) return rule->attrs;
  return {};
}

/// Every attribute of every op that is a real number.
std::set<OpAttr> realAttrs() {
  std::set<OpAttr> all;
  for (uint16_t number = 0; number < 1000; ++number) {
    const auto op = static_cast<TaskOp>(number);
    for (const NamedAttr& attr : attrsOf(op)) {
      if (isReal(attr.rule)) all.insert({op, attr.name});
    }
  }
  return all;
}

class SampleTasks {
 public:
  SampleTasks(Target target, DType kvType)
      : target_(target), program_(sampleContents(target, SampleSize::kFull, kvType).program) {}

  const std::vector<TaskRecord>& tasks() const { return program_.tasks; }

  /// What the verifier says of `task` with `bits` as attribute `index`.
  Status verifyWith(const TaskRecord& task, size_t index, uint64_t bits) const {
    std::vector<uint64_t> attrs(program_.attrs.begin() + task.firstAttr,
                                program_.attrs.begin() + task.firstAttr + task.attrCount);
    attrs[index] = bits;
    const auto op = static_cast<TaskOp>(task.op);
    BodyNeeds needs;
    const auto operands = std::span(program_.operands).subspan(task.firstOperand, task.operandCount);
    if (target_ != Target::kNpu) return verifyTask({program_.header, target_}, op, operands, attrs, needs);
    const uint32_t queue = machine::queueOf(machine_, npuTaskRule(op)->engine, operands[0].base);
    return verifyNpuTask({program_.header, machine_, queue}, {op, operands, attrs, {}, {}}, needs);
  }

 private:
  Target target_;
  Program program_;
  machine::Machine machine_ = machine::sampleMachine();
};

void expectOnlyNumbers(const SampleTasks& sample, const TaskRecord& task, size_t index, const NamedAttr& attr) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // The ties to even: of the largest number of f32 and the next power of two, and of the smallest one and 0.
  constexpr double kInfiniteFrom = 0x1.ffffffp127;
  constexpr double kZeroTo = 0x1p-150;
  std::vector<double> bad = {kNan, -kNan, kInf, -kInf, 1e300, -1e300, 3.5e38, kInfiniteFrom, -kInfiniteFrom};
  std::vector<double> good = {1,
                              0.5,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min(),
                              std::nextafter(kInfiniteFrom, 0),
                              std::nextafter(kZeroTo, 1)};
  const bool isPositive = attr.rule == AttrRule::kPositive;
  (isPositive ? bad : good).insert((isPositive ? bad : good).end(), {0, -0.0, -1, kZeroTo, 1e-300, -1e-300});
  const std::string_view op = taskOpName(static_cast<TaskOp>(task.op));
  for (const double value : bad) {
    const Status status = sample.verifyWith(task, index, doubleAttr(value));
    EXPECT_EQ(status.code(), Code::kCorrupt) << op << ' ' << attr.name << " = " << value;
    const std::string expected = "attribute " + std::string(attr.name) + ": is ";
    EXPECT_NE(status.message().find(expected), std::string::npos) << status.toString();
    EXPECT_NE(status.message().find(", expected a number that is finite"), std::string::npos) << status.toString();
  }
  for (const double value : good) {
    const Status status = sample.verifyWith(task, index, doubleAttr(value));
    EXPECT_TRUE(status.isOk()) << op << ' ' << attr.name << " = " << value << ": " << status.toString();
  }
}

TEST(TaskAttrsTest, RealNumbersAreFiniteInF32) {
  std::set<OpAttr> tried;
  for (const Target target : {Target::kCpu, Target::kReference, Target::kNpu}) {
    const SampleTasks sample(target, DType::kI8);  // whose attentions have all their attributes
    for (const TaskRecord& task : sample.tasks()) {
      const auto op = static_cast<TaskOp>(task.op);
      const auto rules = attrsOf(op);
      for (size_t i = 0; i < task.attrCount; ++i) {
        if (!isReal(rules[i].rule) || !tried.insert({op, rules[i].name}).second) continue;
        for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
          std::fesetround(rounding);  // a caller's
          expectOnlyNumbers(sample, task, i, rules[i]);
        }
        std::fesetround(FE_TONEAREST);
      }
    }
  }
  EXPECT_EQ(tried, realAttrs()) << "the sample program lacks an op with a real attribute";
}

}  // namespace
}  // namespace firn::blob
