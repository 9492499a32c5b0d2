//! The one error of the native interface: a status and a sentence, as JSON.

use std::any::Any;
use std::fmt::Display;

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hindsight_shared::api::ErrorBody;
use hindsight_shared::search::{NotABlockId, NotAListStart};

use crate::query::QueryError;

/// Why a request has no answer.
#[derive(Debug)]
pub struct HttpError {
    status: StatusCode,
    message: String,
    retry_after: Option<u32>,
}

impl HttpError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// The request itself is wrong: 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// There is no such thing: 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The answer has no such bytes: 416.
    pub fn no_such_range(size: u64) -> Self {
        Self::new(StatusCode::RANGE_NOT_SATISFIABLE, format!("there are {size} bytes, and none of them in the range"))
    }

    /// The request's head is longer than anything that can be meant: 414 or 431.
    pub fn too_long(what: &str, most: usize) -> Self {
        let status = if what == "URL" { StatusCode::URI_TOO_LONG } else { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE };
        Self::new(status, format!("the {what} may take {most} bytes"))
    }

    /// Something of ours failed: 500. The cause is logged, not shown.
    pub fn internal(cause: &dyn Display) -> Self {
        tracing::error!("{cause}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its log says why")
    }
}

impl From<QueryError> for HttpError {
    fn from(error: QueryError) -> Self {
        let (status, retry_after) = match &error {
            QueryError::NotFound(_)
            | QueryError::NoUndo { .. }
            | QueryError::NoHeight(_)
            | QueryError::NoSuchTransaction { .. }
            | QueryError::NoOutput(..)
            | QueryError::NotIndexed(_)
            | QueryError::NoTransaction { .. } => (StatusCode::NOT_FOUND, None),
            QueryError::Pruned(_) => (StatusCode::GONE, None),
            QueryError::TooMany(..) => (StatusCode::UNPROCESSABLE_ENTITY, None),
            QueryError::NotReadYet(..) | QueryError::NotIndexedYet(..) => (StatusCode::SERVICE_UNAVAILABLE, Some(5)),
            QueryError::BeingWritten(_) | QueryError::Busy => (StatusCode::SERVICE_UNAVAILABLE, Some(1)),
            QueryError::Damaged { .. } | QueryError::Failed => (StatusCode::INTERNAL_SERVER_ERROR, None),
            QueryError::Source(cause) => return Self::internal(cause),
            QueryError::Decode(cause) => return Self::internal(cause),
            QueryError::Index(cause) => return Self::internal(cause),
        };
        Self { status, message: error.to_string(), retry_after }
    }
}

impl From<NotABlockId> for HttpError {
    fn from(error: NotABlockId) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<NotAListStart> for HttpError {
    fn from(error: NotAListStart) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody { error: self.message })).into_response();
        let headers = response.headers_mut();
        // What is absent now may be there in a moment.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Below `/api/` nothing falls through to the web app.
pub async fn no_such_route(uri: Uri) -> HttpError {
    let path: String = uri.path().chars().take(200).collect();
    HttpError::not_found(format!("there is no {path} here: see the readme for the routes"))
}

/// What is only read is only asked for.
pub async fn no_such_method(method: Method) -> HttpError {
    let method: String = method.as_str().chars().take(20).collect();
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} has no meaning here: ask with GET or HEAD"))
}

/// A handler that panicked is a defect: the connection gets an answer and the log gets the cause.
pub fn panicked(cause: Box<dyn Any + Send>) -> Response {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
    HttpError::internal(&format_args!("a handler panicked: {text}")).into_response()
}
