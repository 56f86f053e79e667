// SPDX-License-Identifier: Apache-2.0
//
// Reads every Bloom filter of a file through Arrow C++ and asks it questions.
//
//   arrow_probe FILE QUERIES [FOOTER_KEY AAD_PREFIX [COLUMN=KEY ...]]
//
// Keys and prefix, of an encrypted file, are in hexadecimal; "-" is no prefix.
//
// A line of QUERIES is  column TAB kind TAB value ; kinds are i32, i64, f32, f64, and in hexadecimal
// binary, flba and i96. Printed, one line each:
//
//   filter TAB row group TAB column TAB bitset in hexadecimal     (absent if there is no filter)
//   error  TAB row group TAB column TAB message                   (the filter was refused)
//   answer TAB query number TAB row group TAB true|false          (false: not in the row group)

#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrow/buffer.h"
#include "arrow/io/memory.h"
#include "arrow/util/secure_string.h"
#include "parquet/bloom_filter.h"
#include "parquet/bloom_filter_reader.h"
#include "parquet/encryption/encryption.h"
#include "parquet/file_reader.h"
#include "parquet/metadata.h"
#include "parquet/properties.h"
#include "parquet/types.h"

namespace {

struct Query {
  std::string column;
  std::string kind;
  std::string value;
};

std::vector<Query> ReadQueries(const char* path) {
  std::vector<Query> queries;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Query query;
    std::getline(fields, query.column, '\t');
    std::getline(fields, query.kind, '\t');
    std::getline(fields, query.value, '\t');
    queries.push_back(query);
  }
  return queries;
}

std::string Unhex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::string Hex(const uint8_t* bytes, int64_t size) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int64_t i = 0; i < size; i++) {
    text.push_back(kDigits[bytes[i] >> 4]);
    text.push_back(kDigits[bytes[i] & 15]);
  }
  return text;
}

uint64_t Hash(const parquet::BloomFilter& filter, const Query& query) {
  if (query.kind == "i32") return filter.Hash(static_cast<int32_t>(std::stol(query.value)));
  if (query.kind == "i64") return filter.Hash(static_cast<int64_t>(std::stoll(query.value)));
  if (query.kind == "f32") return filter.Hash(std::stof(query.value));
  if (query.kind == "f64") return filter.Hash(std::stod(query.value));
  const std::string bytes = Unhex(query.value);
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto size = static_cast<uint32_t>(bytes.size());
  if (query.kind == "binary") {
    const parquet::ByteArray value(size, data);
    return filter.Hash(&value);
  }
  if (query.kind == "flba") {
    const parquet::FixedLenByteArray value(data);
    return filter.Hash(&value, size);
  }
  if (query.kind == "i96" && size == sizeof(parquet::Int96)) {
    parquet::Int96 value;
    std::memcpy(&value, data, size);
    return filter.Hash(&value);
  }
  throw std::invalid_argument("cannot ask for a value of kind " + query.kind);
}

// WriteTo() emits the header as well; the bitset is what stands at the end.
std::string Bitset(const parquet::BloomFilter& filter) {
  auto stream = arrow::io::BufferOutputStream::Create().ValueOrDie();
  filter.WriteTo(stream.get());
  auto written = stream->Finish().ValueOrDie();
  const int64_t size = filter.GetBitsetSize();
  return Hex(written->data() + written->size() - size, size);
}

void Judge(const parquet::BloomFilter& filter, int row_group, const std::string& column,
           const std::vector<Query>& queries) {
  std::cout << "filter\t" << row_group << '\t' << column << '\t' << Bitset(filter) << '\n';
  for (size_t number = 0; number < queries.size(); number++) {
    if (queries[number].column != column) continue;
    const bool found = filter.FindHash(Hash(filter, queries[number]));
    std::cout << "answer\t" << number << '\t' << row_group << '\t'
              << (found ? "true" : "false") << '\n';
  }
}

// What follows the first two arguments: how to decrypt the file.
parquet::ReaderProperties Properties(int argc, char** argv) {
  auto properties = parquet::default_reader_properties();
  if (argc < 5) return properties;
  using arrow::util::SecureString;
  parquet::FileDecryptionProperties::Builder file;
  file.footer_key(SecureString(Unhex(argv[3])));
  if (std::string(argv[4]) != "-") file.aad_prefix(Unhex(argv[4]));
  parquet::ColumnPathToDecryptionPropertiesMap columns;
  for (int i = 5; i < argc; i++) {
    const std::string text = argv[i];
    const auto end = text.rfind('=');
    const auto path = text.substr(0, end);
    parquet::ColumnDecryptionProperties::Builder column(path);
    column.key(SecureString(Unhex(text.substr(end + 1))));
    columns[path] = column.build();
  }
  if (!columns.empty()) file.column_keys(std::move(columns));
  properties.file_decryption_properties(file.build());
  return properties;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc == 4) {
    std::cerr << "usage: arrow_probe FILE QUERIES [FOOTER_KEY AAD_PREFIX [COLUMN=KEY ...]]\n";
    return 2;
  }
  try {
    const auto queries = ReadQueries(argv[2]);
    auto reader = parquet::ParquetFileReader::OpenFile(argv[1], /*memory_map=*/false,
                                                       Properties(argc, argv));
    auto metadata = reader->metadata();
    auto& filters = reader->GetBloomFilterReader();
    for (int row_group = 0; row_group < metadata->num_row_groups(); row_group++) {
      auto group = filters.RowGroup(row_group);
      for (int i = 0; i < metadata->num_columns(); i++) {
        const auto column = metadata->schema()->Column(i)->path()->ToDotString();
        try {
          auto filter = group->GetColumnBloomFilter(i);
          if (filter) Judge(*filter, row_group, column, queries);
        } catch (const parquet::ParquetException& refused) {
          std::cout << "error\t" << row_group << '\t' << column << '\t' << refused.what() << '\n';
        }
      }
    }
  } catch (const std::exception& trouble) {
    std::cerr << trouble.what() << '\n';
    return 1;
  }
  return 0;
}
