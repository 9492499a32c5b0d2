//! Everything that a real node answered about the regtest fixture (`fixtures/regtest-kernel-206.answers.json.gz`), asked
//! again of the server.

use hindsight_tests::core_rest::Asker;
use hindsight_tests::fixtures;
use hindsight_tests::recording::{Recording, path};
use hindsight_tests::test_server::TestServer;

#[test]
fn answers_of_a_real_node() {
    let recording = Recording::read(&path()).unwrap();
    let fixture = fixtures::regtest();
    let server = TestServer::start(&fixture.datadir());
    let compared = recording.compare(&mut Asker::new(server.address));
    println!("{compared} ({}, {})", recording.source, recording.date);
    assert_eq!((compared.requests, compared.fields), (recording.answers.len(), 207 * 31));
    compared.nothing_is_different();
}
