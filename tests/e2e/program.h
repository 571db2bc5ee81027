// Runs the programs firn and firn-compile as a user does: arguments in; output, errors and exit code out.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/e2e/compiled_model.h"

namespace firn::e2e {

/// How a program ended. exitCode is 128 + the signal's number after a signal.
struct ProgramResult {
  int exitCode = -1;
  std::string out;
  std::string err;
  uint64_t peakBytes = 0;  ///< the most memory that it held, mapped files included
};

/// A folder in which programs run: their cache and their output are here and nowhere else. One test, one object.
class ProgramFolder {
 public:
  /// Runs firn, firn-compile (both from this build), or any other program of the system, and waits.
  ProgramResult run(const std::string& program, const std::vector<std::string>& arguments) const;

  /// Starts one in the background; finish() waits for it.
  pid_t start(const std::string& program, const std::vector<std::string>& arguments) const;
  ProgramResult finish(pid_t process) const;
  /// Waits until `isSo`; throws with what the program said when it ends before, or after a minute.
  void waitUntil(pid_t process, const std::function<bool()>& isSo) const;
  /// What the program that was started last has written to standard output.
  std::string outputSoFar() const;

  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Names in the folder, the output of programs aside.
  std::vector<std::string> names() const;
  /// The blobs in the cache.
  std::vector<std::string> cachedBlobs() const;

 private:
  TempFolder folder_;
  TempFolder cache_;
  TempFolder output_;
};

/// The path of `name` (firn or firn-compile) of this build; other names as they are.
std::string programPath(const std::string& name);

/// The bytes of a file, and a file of these bytes. Throw on failure.
std::string readFile(const std::string& path);
void writeFile(const std::string& path, const std::string& bytes);

}  // namespace firn::e2e
