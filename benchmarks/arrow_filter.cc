// Times the split block Bloom filter of Arrow C++, for kernel.py.
//
//   arrow_filter FILE WIDTH      FILE: PLAIN integers of WIDTH bytes (4 or 8), or strings (0)
//
// Each line on stdin, "insert BYTES" or "check BYTES", is answered by one line: nanoseconds per
// value into or from a filter of BYTES bytes, in the faster of the ways that the library offers:
// one value at a time, or hashed and inserted in batches, as its own writer does.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "parquet/bloom_filter.h"

namespace {

constexpr size_t kBatch = 256;  // that of Arrow's writer

using Filter = parquet::BlockSplitBloomFilter;

template <typename Work>
double NanosecondsPerValue(size_t count, Work work) {
  auto start = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / static_cast<double>(count);
}

uint64_t HashOne(const Filter& filter, int32_t value) { return filter.Hash(value); }
uint64_t HashOne(const Filter& filter, int64_t value) { return filter.Hash(value); }
uint64_t HashOne(const Filter& filter, const parquet::ByteArray& value) {
  return filter.Hash(&value);
}

template <typename Value>
void InsertOneByOne(Filter& filter, const std::vector<Value>& values) {
  for (const Value& value : values) filter.InsertHash(HashOne(filter, value));
}

template <typename Value>
void InsertInBatches(Filter& filter, const std::vector<Value>& values) {
  uint64_t hashes[kBatch];
  for (size_t at = 0; at < values.size(); at += kBatch) {
    int n = static_cast<int>(std::min(kBatch, values.size() - at));
    filter.Hashes(values.data() + at, n, hashes);
    filter.InsertHashes(hashes, n);
  }
}

template <typename Value>
double Insert(uint32_t num_bytes, const std::vector<Value>& values) {
  Filter first, second;
  first.Init(num_bytes);
  second.Init(num_bytes);
  double one_by_one =
      NanosecondsPerValue(values.size(), [&] { InsertOneByOne(first, values); });
  double in_batches =
      NanosecondsPerValue(values.size(), [&] { InsertInBatches(second, values); });
  return std::min(one_by_one, in_batches);
}

// Every second value was inserted, the others were not.
template <typename Value>
double Check(uint32_t num_bytes, const std::vector<Value>& values) {
  Filter filter;
  filter.Init(num_bytes);
  for (size_t i = 0; i < values.size(); i += 2) filter.InsertHash(HashOne(filter, values[i]));
  size_t found = 0;
  double answer = NanosecondsPerValue(values.size(), [&] {
    for (const Value& value : values) found += filter.FindHash(HashOne(filter, value));
  });
  if (found < values.size() / 2) std::cerr << "Arrow C++ lost a value\n";
  return answer;
}

template <typename Value>
void Serve(const std::vector<Value>& values) {
  std::string verb;
  uint32_t num_bytes;
  while (std::cin >> verb >> num_bytes)
    std::cout << (verb == "insert" ? Insert(num_bytes, values) : Check(num_bytes, values))
              << std::endl;
}

template <typename Value>
void ServeIntegers(const std::vector<char>& data) {
  std::vector<Value> values(data.size() / sizeof(Value));
  std::memcpy(values.data(), data.data(), values.size() * sizeof(Value));
  Serve(values);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::vector<char> data{std::istreambuf_iterator<char>(in), {}};
  std::string width = argv[2];
  if (width == "4") ServeIntegers<int32_t>(data);
  if (width == "8") ServeIntegers<int64_t>(data);
  if (width != "0") return 0;
  std::vector<parquet::ByteArray> values;
  uint32_t length;
  for (size_t at = 0; at + sizeof length <= data.size(); at += sizeof length + length) {
    std::memcpy(&length, data.data() + at, sizeof length);
    values.emplace_back(length, reinterpret_cast<const uint8_t*>(data.data() + at + sizeof length));
  }
  Serve(values);
}
