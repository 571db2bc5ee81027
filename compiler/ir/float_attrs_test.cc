// Real numbers in the IR, all of them: what is no number in f32, or has no meaning there, is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/task.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace firn::graph {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct FloatAttrCase {
  std::string_view name;  ///< as the message calls it
  bool isPositive;        ///< else any finite number
  std::string_view text;  ///< a module with '$' for the number
};

constexpr std::string_view kInGraph = R"(
graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @m(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %c: tensor<4x128x16xf32>) -> tensor<4x64xf32> {
  %0 = OP -> tensor<4x64xf32>
  graph.return %0 : tensor<4x64xf32>
}
)";

constexpr std::string_view kInPack = R"(
task.program "cpu" lanes 1 model {} {
  task.stream @s bytes 64 {
    task.pack "rope_table" "f32" of "rope" rows [0, 4] columns [0, 2] at 0 bytes 64 OP
  }
}
)";

constexpr std::string_view kInRun = R"(
task.program "cpu" lanes 1 model {} {
  task.body @b [] {
    task.segment {
      task.lane 0 {
        task.run "cpu.scale" for "x" [] attrs [1, OP]
      }
    }
  }
}
)";

std::string filled(std::string_view frame, std::string_view op) {
  std::string text(frame);
  return text.replace(text.find("OP"), 2, op);
}

/// Every attribute of graph_ops.td and task_ops.td that is a real number, and the numbers in lists of them.
std::vector<std::pair<FloatAttrCase, std::string>> cases() {
  const FloatAttrCase inGraph[] = {
      {"graph.rms_norm_c2: found eps ", true, "graph.rms_norm %x, @n {eps = $ : f32} : (tensor<4x64xf32>)"},
      {"graph.layer_norm_c2: found eps ", true, "graph.layer_norm %x, @n {eps = $ : f32} : (tensor<4x64xf32>)"},
      {"graph.rope_c6: found magnitude ", true,
       "graph.rope half_split %x, %p, @f {heads = 4 : i32, dims = 16 : i32, magnitude = $ : f32} : "
       "(tensor<4x64xf32>, tensor<4xi32>)"},
      {"graph.attention_c7: found scale ", true,
       "graph.attention %x, %c, %c {heads = 4 : i32, kv_heads = 4 : i32, scale = $ : f32} : "
       "(tensor<4x64xf32>, tensor<4x128x16xf32>, tensor<4x128x16xf32>)"},
      {"graph.scale_c2: found factor ", false, "graph.scale %x {factor = $ : f32} : (tensor<4x64xf32>)"},
      {"graph.softcap_c2: found cap ", true, "graph.softcap %x {cap = $ : f32} : (tensor<4x64xf32>)"},
  };
  std::vector<std::pair<FloatAttrCase, std::string>> all;
  for (const FloatAttrCase& one : inGraph) all.emplace_back(one, filled(kInGraph, one.text));
  const FloatAttrCase inPack[] = {
      {"magnitude is ", true, "values dense<[1.0, 0.5]> : tensor<2xf32> magnitude $"},
      {"values ", false, "values dense<[1.0, $]> : tensor<2xf32> magnitude 1.0"},
  };
  for (const FloatAttrCase& one : inPack) all.emplace_back(one, filled(kInPack, one.text));
  all.emplace_back(FloatAttrCase{"attribute ", false, "$ : f64"}, filled(kInRun, "$ : f64"));
  all.emplace_back(FloatAttrCase{"graph.weight_c5: found ", false, ""},
                   "graph.weight @w : tensor<2xf32> {value = dense<[1.0, $]> : tensor<2xf32>}");
  return all;
}

/// What the verifiers say of `text` with `number` for '$'; empty when they accept it.
std::string refusal(std::string text, const std::string& number) {
  text.replace(text.find('$'), 1, number);
  mlir::MLIRContext context;
  context.loadDialect<GraphDialect, task::TaskDialect>();
  std::string said;
  const mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    said += diagnostic.str() + "\n";
    return mlir::success();
  });
  const auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_EQ(!module, !said.empty()) << text;
  return said;
}

/// The literal of a number that the parser reads at the width where the test puts it: f64 where nothing says f32.
std::string literal(const std::string& text, std::string_view asF32, std::string_view asF64) {
  const bool isF32 = text.find("$ : f32") != std::string::npos || text.find("$]>") != std::string::npos;
  return std::string(isF32 ? asF32 : asF64);
}

TEST(FloatAttrsTest, EveryOneIsANumberInF32) {
  for (const auto& [one, text] : cases()) {
    std::vector<std::string> bad = {
        literal(text, "0x7FC00000", "0x7FF8000000000000"),  // NaN
        literal(text, "0x7F800000", "0x7FF0000000000000"),  // inf
        literal(text, "0xFF800000", "0xFFF0000000000000"),  // -inf
        "1.0e300",
        "-1.0e300",
    };
    std::vector<std::string> good = {"1.0", "3.4e38", "1.0e-40"};
    for (const char* number : {"0.0", "-0.0", "-1.0", "1.0e-300"}) (one.isPositive ? bad : good).emplace_back(number);
    for (const std::string& number : bad) {
      EXPECT_THAT(refusal(text, number), AllOf(HasSubstr(std::string(one.name)), HasSubstr("expected"))) << number;
    }
    for (const std::string& number : good) EXPECT_EQ(refusal(text, number), "") << number << " in " << text;
  }
}

TEST(FloatAttrsTest, EveryOneIsTried) {
  const std::regex floats("F(32|64)Attr");
  size_t defined = 0;
  for (const char* path : {"compiler/ir/graph_ops.td", "compiler/ir/task_ops.td"}) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string source = text.str();
    defined += static_cast<size_t>(
        std::distance(std::sregex_iterator(source.begin(), source.end(), floats), std::sregex_iterator()));
  }
  constexpr size_t kLists = 3;  // values of task.pack and graph.weight, attributes of task.run
  EXPECT_EQ(cases().size(), defined + kLists);
}

}  // namespace
}  // namespace firn::graph
