#include "tests/e2e/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace firn::e2e {

namespace fs = std::filesystem;

std::string programPath(const std::string& name) {
  return name == "firn" || name == "firn-compile" ? std::string(FIRN_PROGRAM_FOLDER) + "/" + name : name;
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

pid_t ProgramFolder::start(const std::string& program, const std::vector<std::string>& arguments) const {
  const std::string path = programPath(program);
  const std::string outPath = output_.file("out");
  const std::string errPath = output_.file("err");
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // Made before the fork: a program that is killed at once has written nothing, and that can be read.
  writeFile(outPath, "");
  writeFile(errPath, "");
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("cannot fork");
  if (process > 0) return process;
  const int out = open(outPath.c_str(), O_WRONLY);
  const int err = open(errPath.c_str(), O_WRONLY);
  const int in = open("/dev/null", O_RDONLY);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
  // A test program in the background may have inherited that they are ignored.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  execvp(argv[0], argv.data());
  _exit(127);
}

ProgramResult ProgramFolder::finish(pid_t process) const {
  int status = 0;
  struct rusage usage{};
  if (wait4(process, &status, 0, &usage) != process) throw std::runtime_error("the program is lost");
  ProgramResult result;
  result.peakBytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = readFile(output_.file("out"));
  result.err = readFile(output_.file("err"));
  return result;
}

void ProgramFolder::waitUntil(pid_t process, const std::function<bool()>& isSo) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (true) {
    // Looked at before `isSo`, so that the last thing a program does counts; finish() gets it again.
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (isSo()) return;
    if (ended.si_pid != 0) throw std::runtime_error("the program ended too early: " + readFile(output_.file("err")));
    if (std::chrono::steady_clock::now() > deadline) {
      kill(process, SIGKILL);
      throw std::runtime_error("waited a minute: " + finish(process).err);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string ProgramFolder::outputSoFar() const { return readFile(output_.file("out")); }

ProgramResult ProgramFolder::run(const std::string& program, const std::vector<std::string>& arguments) const {
  return finish(start(program, arguments));
}

std::vector<std::string> ProgramFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
  return names;
}

std::vector<std::string> ProgramFolder::cachedBlobs() const {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(cache_.path())) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  return paths;
}

}  // namespace firn::e2e
