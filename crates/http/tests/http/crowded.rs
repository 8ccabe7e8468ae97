//! More requests than there is room for.

use super::*;

#[test]
fn who_asks_when_the_queue_is_full_is_told_to_come_back() {
    let options = Options { workers: Some(1), queue: 2, ..Options::default() };
    let served = Served::with(options, cairn_server::Options::default());
    assert_eq!(served.client.put(NOTES, "").status, 201);
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$;
                CREATE TRIGGER slow BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION slow()";
    served.database.connect().unwrap().execute_script(slow).unwrap();
    let documents = format!("{NOTES}/documents");
    let ask = || served.client.post(&documents, "{}");
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert!(made.len() >= 2 && !refused.is_empty(), "{} made", made.len());
    for answer in &refused {
        assert_eq!((told(answer), answer.header("retry-after")), (of(503, "53300"), Some("1")));
    }
    // What was refused has left nothing, and what was taken is there.
    assert_eq!(served.rows("SELECT count(*) FROM notes"), made.len() as i64);
    let metrics = served.client.get("/metrics").body;
    for expected in [
        "cairn_sched_workers 1\n",
        "cairn_sched_workers_max 1\n",
        "cairn_sched_queue_depth{database=\"shop\"} 0\n",
        "cairn_sched_queue_depth_mean 0\n",
    ] {
        assert!(metrics.contains(expected), "{expected}: {metrics}");
    }
}
