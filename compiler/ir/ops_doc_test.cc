// docs/ops.md, the op definitions, the verifiers, the tests of the constraints and the reference kernels are five lists
// of the same things; here they are compared. The programs themselves are tested by lit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace firn::graph {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string readFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The first groups of all matches.
std::set<std::string> findAll(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1].str());
  }
  return found;
}

/// Text of each "## graph.<op>" section of docs/ops.md, by op.
std::map<std::string, std::string> sections() {
  std::map<std::string, std::string> found;
  std::istringstream lines(readFile("docs/ops.md"));
  std::string op;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) op = line.starts_with("## graph.") ? line.substr(std::string("## graph.").size()) : "";
    if (!op.empty()) found[op] += line + "\n";
  }
  return found;
}

std::set<std::string> definedOps() {
  return findAll(readFile("compiler/ir/graph_ops.td"), R"re(\ndef Graph_\w+Op : Graph_\w+<"(\w+)")re");
}

/// The tests of what the verifiers refuse, one after the other.
std::string violations() {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator("compiler/ir/test")) {
    if (entry.path().filename().string().starts_with("graph_invalid_")) text += readFile(entry.path());
  }
  return text;
}

std::string snakeCase(const std::string& camelCase) {
  std::string snake;
  for (char c : camelCase) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

TEST(OpsDocTest, EveryOpHasItsSectionAndEverySectionItsOp) {
  std::set<std::string> documented;
  for (const auto& [op, text] : sections()) documented.insert(op);
  EXPECT_EQ(documented, definedOps());
  EXPECT_GE(documented.size(), 25U);
}

TEST(OpsDocTest, EverySectionIsComplete) {
  const std::set<std::string> moduleOps = {"weight", "state", "func", "param", "call", "return"};
  for (const auto& [op, text] : sections()) {
    EXPECT_THAT(text, HasSubstr("\n    ")) << op << " has no syntax";
    EXPECT_THAT(text, HasSubstr("**Semantics.**")) << op;
    EXPECT_THAT(text, HasSubstr("**Constraints.**\n- `graph." + op + "_c1`")) << op;
    if (moduleOps.contains(op)) continue;
    EXPECT_THAT(text, HasSubstr("**Reference.**")) << op;
    EXPECT_THAT(text, HasSubstr("**Cpu.**")) << op;
  }
}

TEST(OpsDocTest, EveryTensorOpHasAReferenceKernel) {
  int kernels = 0;
  for (const auto& [op, text] : sections()) {
    if (text.find("**Reference.**") == std::string::npos) continue;
    const std::set<std::string> functions = findAll(text, R"(\*\*Reference\.\*\* `reference::(\w+)`)");
    // A read of state is a view of the cache; no entry has the row numbers of select_rows.
    if (op == "state_read" || op == "select_rows") {
      EXPECT_THAT(functions, IsEmpty());
      continue;
    }
    ASSERT_EQ(functions.size(), 1U) << op;
    const std::string path = "kernels/reference/" + snakeCase(*functions.begin());
    EXPECT_TRUE(std::filesystem::exists(path + ".cc")) << path << ".cc for graph." << op;
    EXPECT_THAT(readFile(path + ".h"), HasSubstr("void " + *functions.begin() + "(")) << op;
    ++kernels;
  }
  EXPECT_GE(kernels, 17);
}

TEST(OpsDocTest, EveryLabelIsDocumentedEnforcedAndViolatedByATest) {
  const std::string label = R"((graph\.\w+_c\d+))";
  const std::set<std::string> documented = findAll(readFile("docs/ops.md"), "`" + label + "`");
  // The lit test fails when the verifier does not say the label, so a violation proves the check.
  const std::set<std::string> violated = findAll(violations(), R"(expected-error-re @\+1 \{\{)" + label + ":");
  EXPECT_EQ(documented, violated);
  for (const char* source : {"graph.cc", "graph_module.cc", "graph_verify.cc"}) {
    for (const std::string& name : findAll(readFile(std::string("compiler/ir/") + source), "\"" + label)) {
      EXPECT_TRUE(documented.contains(name)) << source << " has " << name << ", docs/ops.md does not";
    }
  }
}

TEST(OpsDocTest, OperandTypesAreDocumentedAndViolatedByATest) {
  const std::string doc = readFile("docs/ops.md");
  const std::string test = violations();
  const std::set<std::string> types = findAll(readFile("compiler/ir/graph_types.td"), R"re(\((graph\.\w+)\)")re");
  EXPECT_EQ(types.size(), 7U);
  for (const std::string& type : types) {
    EXPECT_THAT(doc, HasSubstr("| `" + type + "` |"));
    EXPECT_THAT(test, HasSubstr("(" + type + ")}}"));
  }
}

}  // namespace
}  // namespace firn::graph
