#include "tests/e2e/compiled_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <sstream>

#include <unistd.h>

namespace firn::e2e {
namespace {

std::string joined(const std::vector<uint32_t>& sizes) {
  std::string text;
  for (const uint32_t size : sizes) text += std::to_string(size) + ",";
  return text;
}

/// Everything that the compile depends on.
std::string keyOf(const compiler::CompileOptions& options) {
  std::ostringstream key;
  const compiler::ActivationPlanes& planes = options.activationPlanes;
  key << options.modelPath << ' ' << options.target << ' ' << options.prefillTarget << ' ' << options.decodeTarget
      << ' ' << options.places << ' ' << options.maxPromptTokens << ' ' << options.minResponseTokens << ' '
      << joined(options.prefillChunks) << ' ' << joined(options.contexts) << ' ' << joined(options.batches) << ' '
      << options.lanes << ' ' << planes.attentionInputs << planes.head << planes.others << ' '
      << (options.kvType ? static_cast<int>(*options.kvType) : -1);
  return key.str();
}

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "firn_e2e_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;  // a destructor has nobody to tell
  std::filesystem::remove_all(path_, ignored);
}

compiler::CompileOptions smallCompile(const std::string& model, const std::string& target, uint32_t lanes) {
  compiler::CompileOptions options;
  options.modelPath = "tests/data/" + model;
  options.target = target;
  options.maxPromptTokens = 128;
  options.minResponseTokens = 128;
  options.prefillChunks = {16, 64, 128};
  options.contexts = {64, 128, 192, 256};
  options.lanes = lanes;
  return options;
}

std::string blobOf(const compiler::CompileOptions& options) {
  static const TempFolder folder;
  static std::map<std::string, std::string> blobs;
  std::string& path = blobs[keyOf(options)];
  if (!path.empty()) return path;
  compiler::CompileOptions withOutput = options;
  withOutput.outputPath = folder.file(std::to_string(blobs.size()) + ".firn");
  need(compiler::compile(withOutput, nullptr));
  path = withOutput.outputPath;
  return path;
}

SessionPtr openSession(const std::string& path, const engine::ModelOptions& options) {
  return need(engine::Session::create(need(engine::Model::open(path, options))));
}

SessionPtr openSession(const compiler::CompileOptions& compile, const engine::ModelOptions& options) {
  return openSession(blobOf(compile), options);
}

std::vector<float> chunkLogits(engine::Session& session, std::span<const int32_t> ids) {
  std::vector<float> all;
  need(session.evaluate(ids, [&](uint32_t, uint32_t, std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
    return Status::ok();
  }));
  return all;
}

std::vector<float> stepLogits(engine::Session& session, std::span<const int32_t> ids) {
  std::vector<float> all;
  for (const int32_t id : ids) {
    const std::span<const float> logits = need(session.decode(id));
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

std::vector<float> lastLogits(engine::Session& session, std::span<const int32_t> ids) {
  const std::span<const float> logits = need(session.prefill(ids));
  return {logits.begin(), logits.end()};
}

std::vector<int32_t> someIds(uint32_t count, uint32_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % vocab);
  return ids;
}

int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::string differenceInBits(std::span<const float> a, std::span<const float> b) {
  std::ostringstream text;
  if (a.size() != b.size()) {
    text << a.size() << " values, the other has " << b.size();
    return text.str();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    text << "value " << i << " of " << a.size() << " is " << std::hexfloat << a[i] << ", the other is " << b[i];
    return text.str();
  }
  return {};
}

}  // namespace firn::e2e
