/**
 * Settings of the embedded server: for two cores and little memory, durable, and with a log that cannot contain card
 * data. fsync, full_page_writes and synchronous_commit are omitted on purpose: PostgreSQL's defaults are what we need.
 */
export const serverSettings: Readonly<Record<string, string>> = {
  /** Holds the hot rows and indexes of a few hundred thousand payments; the system's cache holds the rest. */
  shared_buffers: '128MB',
  /** Checkpoints by time (5 min), not by volume, up to some 7 MB of log a second. */
  max_wal_size: '2GB',
  /** Our statements are short: compiling one takes longer than running it. */
  jit: 'off',
  /** The gateway's pools, a few commands and a person with psql; each idle connection costs about 2 MB. */
  max_connections: '50',
  /** The superuser never logs in, so nothing is kept free for it. */
  superuser_reserved_connections: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_destination: 'stderr',
  // An error message may quote a parameter ("invalid input syntax … "), and a crash report contains the statement as
  // its detail. "log" ranks above "error" here: server events are logged, statement errors are not. "terse" drops
  // details.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
}
