// SPDX-License-Identifier: BSD-3-Clause
// A recursive-descent parser and evaluator for conditions. Precedence, loosest first: or, and, not,
// comparison, + -, * /, sign.
#include "model/expression.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.hpp"

namespace pillion::model {

enum class Operation {
  Number,
  Step,
  Time,
  Scalar,
  Count,
  Sum,
  Mean,
  Rms,
  Min,
  Max,
  Negate,
  Not,
  Add,
  Subtract,
  Multiply,
  Divide,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or
};

struct Expression::Node {
  Operation operation = Operation::Number;
  double number = 0;
  size_t quantity = 0;  ///< or scalar
  std::shared_ptr<const Node> left, right;
};

namespace {

using Node = Expression::Node;
using NodePtr = std::shared_ptr<const Node>;

const std::vector<std::pair<std::string, Operation>> functions = {
    {"min", Operation::Min}, {"max", Operation::Max}, {"mean", Operation::Mean},
    {"sum", Operation::Sum}, {"rms", Operation::Rms}, {"count", Operation::Count}};

class Parser {
 public:
  Parser(const base::Value& place, const Catalogue& catalogue, std::vector<Quantity>& quantities,
         std::set<size_t>& scalars)
      : place_(place),
        text_(place.as_text()),
        catalogue_(catalogue),
        quantities_(quantities),
        scalars_(scalars) {}

  NodePtr parse() {
    NodePtr node = disjunction();
    skip();
    if (at_ != text_.size())
      fail(fmt::format("'{}' is left over{}", text_.substr(at_), hint(text_.substr(at_))));
    return node;
  }

 private:
  /// Parsing takes stack for each '(', '-' and 'not' that is open.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : depth_(parser.depth_) {
      constexpr int most = 100;
      if (++depth_ > most)
        parser.fail(
            fmt::format("at character {} it is nested more than {} deep", parser.at_, most));
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  /// Why a rest cannot be read, where people write it often.
  static std::string hint(const std::string& rest) {
    static const std::vector<std::pair<std::string, std::string>> hints = {
        {"=>", "write '>='"},
        {"=<", "write '<='"},
        {"=", "'==' compares"},
        {"≥", "write '>='"},
        {"≤", "write '<='"},
        {"≠", "write '!='"},
        {"\xc2\xa0", "it begins with a no-break space; write a blank"},
        {"<", "join two comparisons with 'and'"},
        {">", "join two comparisons with 'and'"}};
    for (const auto& [begin, text] : hints)
      if (rest.starts_with(begin)) return "; " + text;
    return {};
  }
  [[noreturn]] void fail(const std::string& why) const {
    place_.fail(fmt::format("cannot read the condition '{}': {}", text_, why));
  }
  /// Evaluating takes stack for each operation of a chain such as a + b + c.
  NodePtr make(Operation operation, NodePtr left = {}, NodePtr right = {}) {
    constexpr int most = 1000;
    if (++operations_ > most)
      fail(fmt::format("at character {} it has more than {} operations", at_, most));
    return std::make_shared<Node>(Node{operation, 0, 0, std::move(left), std::move(right)});
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool accept(const std::string& token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    const bool is_word = std::isalpha(static_cast<unsigned char>(token[0])) != 0;
    const size_t end = at_ + token.size();
    if (is_word && end < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      return false;
    at_ = end;
    return true;
  }
  void expect(const std::string& token) {
    if (!accept(token))
      fail(fmt::format("expected '{}' {}", token,
                       at_ == text_.size() ? "at the end" : "before '" + text_.substr(at_) + "'"));
  }
  std::string word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// The name of a field: a word, in which letters of any script count, or any text in quotes.
  std::string field_name() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote == '"' || quote == '\'') {
      const size_t begin = at_ + 1, end = text_.find(quote, begin);
      if (end == std::string::npos) fail(fmt::format("the quote {} has no end", quote));
      at_ = end + 1;
      return text_.substr(begin, end - begin);
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  static bool is_of_word(char c) {
    const auto code = static_cast<unsigned char>(c);
    return std::isalnum(code) != 0 || c == '_' || code >= 0x80;
  }

  NodePtr disjunction() {
    NodePtr node = conjunction();
    while (accept("or") || accept("||")) node = make(Operation::Or, node, conjunction());
    return node;
  }
  NodePtr conjunction() {
    NodePtr node = negation();
    while (accept("and") || accept("&&")) node = make(Operation::And, node, negation());
    return node;
  }
  NodePtr negation() {
    if (!accept("not")) return comparison();
    const Nesting nesting(*this);
    return make(Operation::Not, negation());
  }
  NodePtr comparison() {
    static const std::vector<std::pair<std::string, Operation>> tokens = {
        {"<=", Operation::LessEqual}, {">=", Operation::GreaterEqual}, {"==", Operation::Equal},
        {"!=", Operation::NotEqual},  {"<", Operation::Less},          {">", Operation::Greater}};
    NodePtr left = sum();
    for (const auto& [token, operation] : tokens)
      if (accept(token)) return make(operation, left, sum());
    return left;
  }
  NodePtr sum() {
    NodePtr node = product();
    for (;;) {
      if (accept("+")) node = make(Operation::Add, node, product());
      else if (accept("-")) node = make(Operation::Subtract, node, product());
      else return node;
    }
  }
  NodePtr product() {
    NodePtr node = factor();
    for (;;) {
      if (accept("*")) node = make(Operation::Multiply, node, factor());
      else if (accept("/")) node = make(Operation::Divide, node, factor());
      else return node;
    }
  }
  NodePtr factor() {
    skip();
    if (accept("-")) {
      const Nesting nesting(*this);
      return make(Operation::Negate, factor());
    }
    if (accept("(")) {
      const Nesting nesting(*this);
      NodePtr node = disjunction();
      expect(")");
      return node;
    }
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
      return number();
    return name();
  }
  NodePtr number() {
    size_t used = 0;
    Node node;
    try {
      node.number = std::stod(text_.substr(at_), &used);
    } catch (const std::exception&) {
      fail(fmt::format("'{}' is not a number", text_.substr(at_)));
    }
    at_ += used;
    return std::make_shared<Node>(node);
  }
  NodePtr name() {
    const std::string token = word();
    if (token.empty())
      fail(at_ == text_.size()
               ? "it ends too early"
               : fmt::format("unexpected '{}'{}", text_.substr(at_), hint(text_.substr(at_))));
    if (token == "step") return make(Operation::Step);
    if (token == "time") return make(Operation::Time);
    if (const auto scalar = catalogue_.find_scalar(token)) {
      scalars_.insert(*scalar);
      Node node;
      node.operation = Operation::Scalar;
      node.quantity = *scalar;
      return std::make_shared<Node>(node);
    }
    std::vector<std::string> known = catalogue_.scalar_names();
    known.insert(known.end(), {"step", "time"});
    for (const auto& [function, operation] : functions) {
      if (function == token) return statistic(operation);
      known.push_back(function);
    }
    fail(fmt::format("'{}' is not known{}", token, base::suggestion(token, known)));
  }
  NodePtr statistic(Operation operation) {
    expect("(");
    const Quantity quantity = read_quantity();
    expect(")");
    Node node;
    node.operation = operation;
    const auto at = std::find(quantities_.begin(), quantities_.end(), quantity);
    node.quantity = static_cast<size_t>(at - quantities_.begin());
    if (at == quantities_.end()) quantities_.push_back(quantity);
    return std::make_shared<Node>(node);
  }
  Quantity read_quantity() {
    if (accept("norm")) {
      expect("(");
      const Field& field = read_field();
      expect(")");
      return {field.name, Quantity::norm};
    }
    const Field& field = read_field();
    if (!accept("[")) {
      if (field.components > 1)
        fail(fmt::format("field '{0}' has {1} components; say {0}[0] or norm({0})", field.name,
                         field.components));
      return {field.name, 0};
    }
    const auto index = base::parse_integer(word());
    expect("]");
    if (!index || *index < 0 || *index >= field.components)
      fail(fmt::format("field '{}' has components 0 to {}", field.name, field.components - 1));
    return {field.name, static_cast<int32_t>(*index)};
  }
  const Field& read_field() {
    const std::string token = field_name();
    if (token.empty())
      fail(fmt::format("expected a field {}; put quotes around a name with blanks or signs in it",
                       at_ == text_.size() ? "at the end" : "before '" + text_.substr(at_) + "'"));
    const Field* field = catalogue_.find_field(token);
    if (field == nullptr)
      fail(fmt::format("unknown field '{}'{}", token,
                       base::suggestion(token, catalogue_.field_names())));
    const Mesh& mesh = catalogue_.mesh(field->mesh);
    if (mesh.levels() > 1)
      fail(
          fmt::format("field '{}' is on mesh '{}' with {} levels, where cells that finer boxes "
                      "cover would count too; use a scalar that the program sets",
                      token, mesh.name, mesh.levels()));
    return *field;
  }

  const base::Value& place_;
  const std::string& text_;
  const Catalogue& catalogue_;
  std::vector<Quantity>& quantities_;
  std::set<size_t>& scalars_;
  size_t at_ = 0;
  int depth_ = 0;
  int operations_ = 0;
};

/// Nothing has no least and no greatest value.
double extreme(const Moments& of, double value) {
  return of.minimum <= of.maximum ? value : std::numeric_limits<double>::quiet_NaN();
}

double evaluate(const Node& node, const StepValues& values) {
  const auto left = [&] { return evaluate(*node.left, values); };
  const auto right = [&] { return evaluate(*node.right, values); };
  const auto moments = [&]() -> const Moments& { return values.moments[node.quantity]; };
  switch (node.operation) {
    case Operation::Number: return node.number;
    case Operation::Step: return static_cast<double>(values.step);
    case Operation::Time: return values.time;
    case Operation::Scalar: return values.scalars[node.quantity];
    case Operation::Count: return moments().count;
    case Operation::Sum: return moments().sum;
    case Operation::Mean: return moments().weighted_sum / moments().weight;
    case Operation::Rms: return std::sqrt(moments().weighted_squares / moments().weight);
    case Operation::Min: return extreme(moments(), moments().minimum);
    case Operation::Max: return extreme(moments(), moments().maximum);
    case Operation::Negate: return -left();
    case Operation::Not: return left() == 0 ? 1 : 0;
    case Operation::Add: return left() + right();
    case Operation::Subtract: return left() - right();
    case Operation::Multiply: return left() * right();
    case Operation::Divide: return left() / right();
    case Operation::Less: return left() < right() ? 1 : 0;
    case Operation::LessEqual: return left() <= right() ? 1 : 0;
    case Operation::Greater: return left() > right() ? 1 : 0;
    case Operation::GreaterEqual: return left() >= right() ? 1 : 0;
    case Operation::Equal: return left() == right() ? 1 : 0;
    case Operation::NotEqual: return left() != right() ? 1 : 0;
    case Operation::And: return left() != 0 && right() != 0 ? 1 : 0;
    case Operation::Or: return left() != 0 || right() != 0 ? 1 : 0;
  }
  return 0;
}

bool compares(const Node& node) {
  switch (node.operation) {
    case Operation::Not: return compares(*node.left);
    case Operation::And:
    case Operation::Or: return compares(*node.left) && compares(*node.right);
    case Operation::Scalar:
    case Operation::Less:
    case Operation::Greater:
    case Operation::LessEqual:
    case Operation::GreaterEqual:
    case Operation::Equal:
    case Operation::NotEqual: return true;
    default: return false;
  }
}

}  // namespace

Expression::Expression(const base::Value& place, const Catalogue& catalogue)
    : text_(place.as_text()) {
  root_ = Parser(place, catalogue, quantities_, scalars_).parse();
}

bool Expression::compares() const { return model::compares(*root_); }

bool Expression::holds(const StepValues& values) const {
  const double value = evaluate(*root_, values);
  return value != 0 && !std::isnan(value);
}

}  // namespace pillion::model
