// Ask Arrow C++, which has filters, but nothing that reads by them. So this leaves out the row groups that have none of the
// values by their filter, and looks in the others for rows whose stored bytes are one of them.
//
//     A=$(python -c "import pyarrow; print(pyarrow.__path__[0])")
//     g++ -std=c++20 -I$A/include -o arrow_cpp_reads arrow_cpp_reads.cc $A/libparquet.so.* $A/libarrow.so.* -Wl,-rpath,$A

#include <iomanip>
#include <iostream>
#include <set>

#include "arrow/api.h"
#include "arrow/io/memory.h"
#include "arrow/json/reader.h"
#include "arrow/util/config.h"
#include "arrow/util/secure_string.h"
#include "parquet/api/reader.h"
#include "parquet/bloom_filter.h"
#include "parquet/bloom_filter_reader.h"
#include "parquet/encryption/encryption.h"

using std::string;

struct Skip : std::runtime_error { using runtime_error::runtime_error; };

string bytes(const string& digits) {
  string found;
  for (size_t i = 0; i < digits.size(); i += 2) found += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return found;
}

// A line of JSON, as a table of one row.
struct Question {
  std::shared_ptr<arrow::Table> row;

  explicit Question(const string& line) {
    auto options = arrow::json::ReadOptions::Defaults();
    options.use_threads = false;
    auto from = std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(line));
    auto reader = arrow::json::TableReader::Make(arrow::default_memory_pool(), from, options, {});
    row = reader.ValueOrDie()->Read().ValueOrDie();
  }
  string text(const string& name) const {
    return row->GetColumnByName(name)->GetScalar(0).ValueOrDie()->ToString();
  }
  std::set<string> stored() const {
    auto list = row->GetColumnByName("stored")->GetScalar(0).ValueOrDie();
    auto& values = *static_cast<const arrow::ListScalar&>(*list).value;
    std::set<string> found;
    for (int64_t i = 0; i < values.length(); i++) found.insert(bytes(values.GetScalar(i).ValueOrDie()->ToString()));
    return found;
  }
};

// The stored bytes of each row of a row group, each behind a space; of a null, nothing.
template <typename Type> std::vector<string> values_as(parquet::ColumnReader& column) {
  auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(column);
  std::vector<string> found;
  while (reader.HasNext()) {
    int16_t level;
    typename Type::c_type value;
    int64_t count;
    reader.ReadBatch(1, &level, nullptr, &value, &count);
    auto at = reinterpret_cast<const char*>(&value);
    size_t size = sizeof value;
    if constexpr (std::is_same_v<Type, parquet::ByteArrayType>) at = reinterpret_cast<const char*>(value.ptr), size = value.len;
    if constexpr (std::is_same_v<Type, parquet::FLBAType>) at = reinterpret_cast<const char*>(value.ptr), size = reader.descr()->type_length();
    found.push_back(count ? " " + string(at, size) : "");
  }
  return found;
}

std::vector<string> values(parquet::ColumnReader& column) {
  switch (column.type()) {
    case parquet::Type::INT32: return values_as<parquet::Int32Type>(column);
    case parquet::Type::INT64: return values_as<parquet::Int64Type>(column);
    case parquet::Type::INT96: return values_as<parquet::Int96Type>(column);
    case parquet::Type::FLOAT: return values_as<parquet::FloatType>(column);
    case parquet::Type::DOUBLE: return values_as<parquet::DoubleType>(column);
    case parquet::Type::BYTE_ARRAY: return values_as<parquet::ByteArrayType>(column);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return values_as<parquet::FLBAType>(column);
    default: throw Skip("BOOLEAN");
  }
}

string ask(const Question& question) {
  if (question.text("op") == "sql" || !question.text("path").ends_with(".parquet")) throw Skip("neither SQL nor folders");
  auto properties = parquet::default_reader_properties();
  if (auto key = bytes(question.text("key")); !key.empty())
    properties.file_decryption_properties(
        parquet::FileDecryptionProperties::Builder().footer_key(arrow::util::SecureString(std::move(key)))->build());
  auto file = parquet::ParquetFileReader::OpenFile(question.text("path"), false, properties);
  auto& schema = *file->metadata()->schema();
  int number = schema.ColumnIndex(question.text("column"));
  if (number < 0 || schema.Column(number)->max_repetition_level() > 0) throw Skip("lists");
  auto wanted = question.stored();
  string rows;
  for (int g = 0; g < file->metadata()->num_row_groups(); g++) {
    auto of_group = file->GetBloomFilterReader().RowGroup(g);
    auto filter = of_group ? of_group->GetColumnBloomFilter(number) : nullptr;
    auto may_hold = [&](const string& value) {
      // What is hashed is the stored bytes, whatever their type.
      parquet::ByteArray plain(value);
      return !filter || filter->FindHash(filter->Hash(&plain));
    };
    if (std::none_of(wanted.begin(), wanted.end(), may_hold)) continue;
    auto group = file->RowGroup(g);
    auto found = values(*group->Column(number)), numbers = values(*group->Column(schema.ColumnIndex("n")));
    for (size_t i = 0; i < found.size(); i++)
      if (!found[i].empty() && wanted.contains(found[i].substr(1))) {
        int32_t n;
        std::memcpy(&n, numbers[i].data() + 1, sizeof n);
        rows += (rows.empty() ? "" : ",") + std::to_string(n);
      }
  }
  return "\"rows\":[" + rows + "]";
}

string said(const string& word, string text) {
  for (char& c : text) if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::ostringstream quoted;
  quoted << '"' << word << "\":" << std::quoted(text);
  return quoted.str();
}

int main() {
  std::cout << R"({"engine":"Arrow C++","version":")" << ARROW_VERSION_STRING << "\"}" << std::endl;
  for (string line; std::getline(std::cin, line);) {
    Question question(line);
    string answer;
    try {
      answer = ask(question);
    } catch (const Skip& reason) {
      answer = said("skip", reason.what());
    } catch (const std::exception& error) {
      answer = said("error", error.what());
    }
    std::cout << "{" << said("id", question.text("id")) << "," << answer << "}" << std::endl;
  }
}
