//! The judge itself: what it says of texts whose verdict is known.

use cairn_parser_oracle::Grammar;

#[test]
fn the_grammar_alone_judges_with_its_words_and_places_and_nothing_runs() {
    let Some(mut grammar) = Grammar::start_for_test() else { return };
    let taken =
        ["SELECT 1", "", "SELECT no_such(*) FROM nowhere -- why", "DROP TABLE t; SELECT 2;", "SELECT 1 /* a */"];
    for text in taken {
        assert_eq!(grammar.judge(text).unwrap(), Ok(()), "{text}");
    }
    let body = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END";
    assert_eq!(grammar.judge(body).unwrap(), Ok(()));
    let refused = [
        ("SELECT", None),
        ("SELEC 1", Some(("syntax error at or near \"SELEC\"", 1))),
        ("SELECT 1 +", Some(("syntax error at end of input", 11))),
        ("SELECT 'é' 1 ]", Some(("syntax error at or near \"1\"", 12))),
        ("SELECT 'abc", Some(("unterminated quoted string at or near \"'abc\"", 8))),
        ("SELECT 1; SELECT )", Some(("syntax error at or near \")\"", 18))),
        ("CREATE FUNCTION f() BEGIN ATOMIC SELECT 1", Some(("syntax error at end of input", 42))),
        ("CREATE TABLE t (a int) INHERITS ()", Some(("syntax error at or near \")\"", 34))),
    ];
    for (text, expected) in refused {
        let verdict = grammar.judge(text).unwrap();
        let actual = verdict.as_ref().err().map(|refusal| (refusal.message.as_str(), refusal.position));
        assert_eq!(actual, expected, "{text}");
    }
}
