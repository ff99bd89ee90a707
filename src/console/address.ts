/**
 * Where people open the console. Browsers refuse passkeys on a bare IP address, so loopback is addressed by its name.
 */

const loopback = /^(?:127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/

/** The origin of the console, given the gateway's own; the port is another one where the console has its own. */
export function toConsoleOrigin(origin: string, consolePort?: number): string {
  if (!URL.canParse(origin)) return origin
  const url = new URL(origin)
  if (loopback.test(url.hostname)) url.hostname = 'localhost'
  if (consolePort !== undefined) url.port = String(consolePort)
  return url.origin
}
