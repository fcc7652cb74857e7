//! The table for other tools: comma-separated values for spreadsheets, and DMN for decision modellers.

use super::model::{FactSpec, Rule, Table, Vocabulary};
use super::words::value_names;
use std::fmt::Write;

/// What a fact that does not apply is called where a cell must say something.
pub const NOT_APPLICABLE: &str = "not_applicable";

/// The table as CSV (RFC 4180): a column a fact, empty where the rule does not test it, several
/// values joined by `|`.
#[must_use]
pub fn csv(table: &Table, vocabulary: &Vocabulary) -> String {
    let mut out = String::new();
    let mut line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    };
    let head = ["#", "rule"].into_iter().chain(vocabulary.facts.iter().map(|spec| spec.name));
    line(head.chain(["decision", "invariant", "what", "why", "next"]).map(str::to_owned).collect());
    for (place, rule) in (1..).zip(table.rules.iter()) {
        let facts = (0..).zip(vocabulary.facts).map(|(fact, spec)| wanted(rule, fact, spec).join("|"));
        let texts = [&rule.invariant, &rule.what, &rule.why, &rule.next].map(ToString::to_string);
        line(
            [place.to_string(), rule.id.to_string()]
                .into_iter()
                .chain(facts)
                .chain([decision(rule, vocabulary).to_owned()])
                .chain(texts)
                .collect(),
        );
    }
    out
}

fn csv_cell(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The names of the values a rule wants of a fact; none if it does not test it.
fn wanted(rule: &Rule, fact: usize, spec: &FactSpec) -> Vec<&'static str> {
    let condition = rule.when.iter().find(|condition| condition.fact == fact);
    condition.map(|condition| value_names(spec, condition.wanted)).unwrap_or_default()
}

fn decision(rule: &Rule, vocabulary: &Vocabulary) -> &'static str {
    vocabulary.decisions.get(rule.then).copied().unwrap_or_default()
}

/// A version of DMN. They differ in nothing that a table needs but the names of their namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmnVersion {
    /// 1.5; Kie's modeller and engines read it.
    V1_5,
    /// 1.3, for Camunda's modeller, which reads no other.
    V1_3,
}

impl DmnVersion {
    fn date(self) -> &'static str {
        match self {
            Self::V1_5 => "20230324",
            Self::V1_3 => "20191111",
        }
    }
}

/// The table as DMN: one decision with the hit policy `FIRST`, an input for each fact, and the
/// rule's sentences as annotations. A fact that does not apply is the input [`NOT_APPLICABLE`].
#[must_use]
pub fn dmn(table: &Table, vocabulary: &Vocabulary, version: DmnVersion) -> String {
    let mut xml = Xml { out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 };
    let date = version.date();
    let (model, dmndi) =
        (format!("https://www.omg.org/spec/DMN/{date}/MODEL/"), format!("https://www.omg.org/spec/DMN/{date}/DMNDI/"));
    let namespaces = [
        ("xmlns", model.as_str()),
        ("xmlns:dmndi", &dmndi),
        ("xmlns:dc", "http://www.omg.org/spec/DMN/20180521/DC/"),
        ("xmlns:di", "http://www.omg.org/spec/DMN/20180521/DI/"),
        ("id", "definitions"),
        ("name", &table.name),
        ("namespace", "urn:resume-gate:table"),
        ("exporter", "resume-gate"),
    ];
    xml.element("definitions", &namespaces, |xml| {
        xml.text("description", &format!("Version {}, SHA-256 {}.", table.version, table.sha256));
        for spec in vocabulary.facts {
            xml.element("inputData", &[("id", &format!("fact_{}", spec.name)), ("name", spec.name)], |xml| {
                xml.text("description", spec.means);
                let id = format!("variable_{}", spec.name);
                xml.empty("variable", &[("id", &id), ("name", spec.name), ("typeRef", "string")]);
            });
        }
        xml.element("decision", &[("id", "decision"), ("name", &table.name)], |xml| {
            xml.empty("variable", &[("id", "variable_decision"), ("name", &table.name)]);
            for spec in vocabulary.facts {
                xml.element("informationRequirement", &[("id", &format!("requires_{}", spec.name))], |xml| {
                    xml.empty("requiredInput", &[("href", &format!("#fact_{}", spec.name))]);
                });
            }
            decision_table(xml, table, vocabulary);
        });
        xml.element("dmndi:DMNDI", &[], |xml| diagram(xml, vocabulary));
    });
    xml.out
}

fn decision_table(xml: &mut Xml, table: &Table, vocabulary: &Vocabulary) {
    xml.element("decisionTable", &[("id", "table"), ("hitPolicy", "FIRST")], |xml| {
        for spec in vocabulary.facts {
            xml.element("input", &[("id", &format!("input_{}", spec.name)), ("label", spec.name)], |xml| {
                let id = format!("expression_{}", spec.name);
                xml.element("inputExpression", &[("id", &id), ("typeRef", "string")], |xml| {
                    xml.text("text", spec.name);
                });
                let inapplicable = spec.applies.map(|_| NOT_APPLICABLE);
                xml.element("inputValues", &[("id", &format!("values_{}", spec.name))], |xml| {
                    xml.text("text", &feel_list(spec.values.iter().copied().chain(inapplicable)));
                });
            });
        }
        xml.element("output", &[("id", "output_decision"), ("name", "decision"), ("typeRef", "string")], |xml| {
            xml.element("outputValues", &[("id", "values_decision")], |xml| {
                xml.text("text", &feel_list(vocabulary.decisions.iter().copied()));
            });
        });
        xml.empty("output", &[("id", "output_rule"), ("name", "rule"), ("typeRef", "string")]);
        for name in ["what", "why", "next"] {
            xml.empty("annotation", &[("name", name)]);
        }
        for rule in table.rules.iter() {
            row(xml, rule, vocabulary);
        }
    });
}

fn row(xml: &mut Xml, rule: &Rule, vocabulary: &Vocabulary) {
    xml.element("rule", &[("id", &format!("rule_{}", rule.id))], |xml| {
        xml.text("description", &rule.what);
        for (fact, spec) in vocabulary.facts.iter().enumerate() {
            let values = wanted(rule, fact, spec);
            let test = if values.is_empty() { "-".to_owned() } else { feel_list(values.into_iter()) };
            let id = format!("entry_{}_{}", rule.id, spec.name);
            xml.element("inputEntry", &[("id", &id)], |xml| xml.text("text", &test));
        }
        for (output, value) in [("decision", decision(rule, vocabulary)), ("rule", &rule.id)] {
            let id = format!("entry_{}_output_{output}", rule.id);
            xml.element("outputEntry", &[("id", &id)], |xml| xml.text("text", &feel_string(value)));
        }
        for text in [&rule.what, &rule.why, &rule.next] {
            xml.element("annotationEntry", &[], |xml| xml.text("text", text));
        }
    });
}

/// Sizes and gaps of the diagram, in its own units.
const SHAPE: (usize, usize) = (150, 50);
const STEP: (usize, usize) = (180, 90);
const COLUMNS: usize = 5;
const TOP: usize = 240;

/// Where everything is drawn: the decision on top, its inputs in rows below it.
fn diagram(xml: &mut Xml, vocabulary: &Vocabulary) {
    let decision = (STEP.0 * (COLUMNS / 2), 60);
    let shape = |xml: &mut Xml, element: &str, (x, y): (usize, usize)| {
        let id = format!("shape_{element}");
        xml.element("dmndi:DMNShape", &[("id", &id), ("dmnElementRef", element)], |xml| {
            let [x, y, width, height] = [x, y, SHAPE.0, SHAPE.1].map(|number| number.to_string());
            xml.empty("dc:Bounds", &[("height", &height), ("width", &width), ("x", &x), ("y", &y)]);
        });
    };
    xml.element("dmndi:DMNDiagram", &[("id", "diagram")], |xml| {
        shape(xml, "decision", decision);
        for (index, spec) in vocabulary.facts.iter().enumerate() {
            let at = (index % COLUMNS * STEP.0, TOP + index / COLUMNS * STEP.1);
            shape(xml, &format!("fact_{}", spec.name), at);
            let requirement = format!("requires_{}", spec.name);
            let id = format!("edge_{}", spec.name);
            xml.element("dmndi:DMNEdge", &[("id", &id), ("dmnElementRef", &requirement)], |xml| {
                for (x, y) in [(at.0 + SHAPE.0 / 2, at.1), (decision.0 + SHAPE.0 / 2, decision.1 + SHAPE.1)] {
                    xml.empty("di:waypoint", &[("x", &x.to_string()), ("y", &y.to_string())]);
                }
            });
        }
    });
}

/// A string as FEEL, DMN's expression language, writes it.
fn feel_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn feel_list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(feel_string).collect::<Vec<_>>().join(",")
}

/// XML in the making, indented.
struct Xml {
    out: String,
    depth: usize,
}

impl Xml {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.out, "{:width$}<{name}", "", width = self.depth * 2);
        for (name, value) in attributes {
            let _ = write!(self.out, " {name}=\"{}\"", xml_text(value));
        }
        self.out.push_str(end);
    }

    fn element(&mut self, name: &str, attributes: &[(&str, &str)], content: impl FnOnce(&mut Self)) {
        self.open(name, attributes, ">\n");
        self.depth += 1;
        content(self);
        self.depth -= 1;
        let _ = writeln!(self.out, "{:width$}</{name}>", "", width = self.depth * 2);
    }

    fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.open(name, attributes, "/>\n");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.open(name, &[], ">");
        let _ = writeln!(self.out, "{}</{name}>", xml_text(text));
    }
}

/// Text in XML; what XML cannot hold at all is replaced.
fn xml_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
