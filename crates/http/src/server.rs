//! Where a server is reached over HTTP, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use cairn_server::{Level, Services};
use cairndb::{Error, SqlState};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower::ServiceExt;

use crate::app::App;
use crate::guard::Peer;
use crate::options::Options;
use crate::sockets::Socket;
use crate::token::{Secret, Token};
use crate::{routes, tls};

/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The longest head.
const HEAD_BYTES: usize = 64 << 10;
/// How long nobody is let in when there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks which databases nobody uses.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// How long who is being answered when the server ends may take.
const FAREWELL_TIME: Duration = Duration::from_secs(2);

/// A server that is reached over HTTP, until it is [stopped](Running::stop) or dropped.
pub struct Running {
    app: Arc<App>,
    addresses: Vec<SocketAddr>,
    metrics: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    /// `None`: it has ended.
    runtime: Option<Runtime>,
}

impl Running {
    /// Listens, and answers from here on.
    ///
    /// # Errors
    ///
    /// 58030 where an address can not be had, 42501 where it is not for others to reach.
    ///
    /// ```no_run
    /// let database = cairndb::Database::open("app.cairn")?;
    /// let server = cairn_server::Server::over(database).start()?;
    /// let options = cairn_http::Options { addresses: vec!["127.0.0.1:8080".parse().unwrap()], ..Default::default() };
    /// let http = cairn_http::Running::start(server.services(), options)?;
    /// http.stop();
    /// server.stop();
    /// # Ok::<(), cairndb::Error>(())
    /// ```
    pub fn start(services: Services, options: Options) -> Result<Running, Error> {
        options.check(&services.options())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("cairn http").build();
        let runtime = runtime.map_err(|error| io_error("a runtime", &error))?;
        let (stop, stopping) = watch::channel(false);
        let app = Arc::new(App::new(services, options, stopping)?);
        let kept = Arc::downgrade(&app);
        app.services.on_letting_go(move |name, by_force| {
            kept.upgrade().iter().for_each(|app| app.databases.let_go(name, by_force));
        });
        let mut running = Running { app, addresses: Vec::new(), metrics: None, stop, runtime: None };
        running.listen_all(&runtime)?;
        runtime.spawn(look(running.app.clone()));
        running.runtime = Some(runtime);
        Ok(running)
    }

    fn listen_all(&mut self, runtime: &Runtime) -> Result<(), Error> {
        let options = self.app.options();
        let limit = Arc::new(Semaphore::new(options.connections_max));
        for address in &options.addresses {
            self.addresses.push(listen(runtime, (*address, options.tls), (routes::all(&self.app), &self.app, &limit))?);
        }
        if let Some(address) = options.metrics {
            self.metrics =
                Some(listen(runtime, (address, false), (routes::of_watchers(&self.app), &self.app, &limit))?);
        }
        let told = self.addresses.iter().map(|address| ("http", address));
        for (name, address) in told.chain(self.metrics.iter().map(|address| ("metrics", address))) {
            self.app.services.log(Level::Info, "listening", &[(name, address)]);
        }
        Ok(())
    }

    /// Where it is reached, with the ports that the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where metrics are told to whoever asks, with the port that the system chose.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// A secret that begins one session of the console, as who has shown this token, if it is used within ten minutes. The token has to be one that the
    /// server knows: with it the session ends.
    ///
    /// # Errors
    ///
    /// 58030 where the system has no randomness.
    pub fn console_secret(&self, token: Token) -> Result<Secret, Error> {
        self.app.sessions.once(token)
    }

    /// Has these options from now on, but for where it listens, how many connections there may be, and each database's workers.
    ///
    /// # Errors
    ///
    /// Those of [`Options::check`]; then all stays as it was.
    pub fn reload(&self, options: Options) -> Result<(), Error> {
        let old = self.app.options();
        let options = Options { addresses: old.addresses.clone(), tls: old.tls, metrics: old.metrics, ..options };
        options.check(&self.app.services.options())?;
        self.app.set_options(options);
        Ok(())
    }

    /// Ends streams, waits a little for who is being answered, and lets go of all databases.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let _ = self.stop.send(true);
        runtime.block_on(async {
            let quiet = async {
                while self.app.counts.connections.load(Ordering::Relaxed) > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let _ = tokio::time::timeout(FAREWELL_TIME, quiet).await;
        });
        self.app.sessions.close();
        runtime.shutdown_timeout(FAREWELL_TIME);
        self.app.databases.close();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn io_error(what: &str, error: &io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not use {what}: {error}"))
}

/// Lets go of what nobody uses, again and again.
async fn look(app: Arc<App>) {
    loop {
        tokio::time::sleep(LOOK_TIME).await;
        app.databases.close_idle();
        app.sessions.look(&app).await;
    }
}

/// What connections to an address share.
type Served<'a> = (Router, &'a Arc<App>, &'a Arc<Semaphore>);

fn listen(
    runtime: &Runtime,
    (address, is_tls): (SocketAddr, bool),
    (router, app, limit): Served<'_>,
) -> Result<SocketAddr, Error> {
    let failed = |error: io::Error| io_error(&format!("the address {address}"), &error);
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    runtime.spawn(accept(listener, (address, is_tls), router, app.clone(), limit.clone()));
    Ok(address)
}

/// Lets in who comes, until the server ends.
async fn accept(
    listener: TcpListener,
    (to, is_tls): (SocketAddr, bool),
    router: Router,
    app: Arc<App>,
    limit: Arc<Semaphore>,
) {
    let mut stopping = app.stopping.clone();
    loop {
        let Ok(place) = limit.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        match accepted {
            Ok((stream, from)) => {
                let connection = Connection::new(place, app.clone());
                tokio::spawn(serve(stream, (Peer { from, to }, is_tls), router.clone(), connection));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Counts while it is there.
struct Connection {
    app: Arc<App>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn new(place: OwnedSemaphorePermit, app: Arc<App>) -> Connection {
        app.counts.connections.fetch_add(1, Ordering::Relaxed);
        Connection { app, _place: place }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.app.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers a client, over TLS where that is spoken. One that shakes no hands, or goes, is no error.
async fn serve(stream: TcpStream, (peer, is_tls): (Peer, bool), router: Router, connection: Connection) {
    // Answers are written whole: what is written is to go.
    let _ = stream.set_nodelay(true);
    if !is_tls {
        return answer(stream, peer, router, connection).await;
    }
    // (As it is by now: a certificate may be read again.)
    let Some(tls) = connection.app.services.options().tls.clone() else { return };
    if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, tls::accept(&tls, stream)).await {
        answer(stream, peer, router, connection).await;
    }
}

/// Answers requests, one after the other.
async fn answer<S>(stream: S, peer: Peer, router: Router, connection: Connection)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let app = &connection.app;
    let socket = Socket::new(stream, app.services.options().output_timeout);
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request.map(Body::new))
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
    let mut served = std::pin::pin!(builder.serve_connection(socket, service));
    let mut stopping = app.stopping.clone();
    tokio::select! {
        _ = served.as_mut() => return,
        _ = stopping.changed() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
