/**
 * The address of the console. Browsers refuse passkeys on a bare IP address, so a loopback address is replaced by
 * `localhost`.
 */

const loopback = /^(?:127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/

/**
 * The origin of the console, derived from the gateway's; `consolePort` replaces the port if the console has its own.
 */
export function toConsoleOrigin(origin: string, consolePort?: number): string {
  if (!URL.canParse(origin)) return origin
  const url = new URL(origin)
  if (loopback.test(url.hostname)) url.hostname = 'localhost'
  if (consolePort !== undefined) url.port = String(consolePort)
  return url.origin
}
