/**
 * Tells the page that frames ours how tall we are. Only sites on the merchant's list can frame us (`frame-ancestors`); we
 * answer the window above us alone, at the origin it spoke from, and tell nothing but heights.
 */
export function startFrame() {
  if (window.parent === window) return
  // As tall as its content and no taller: a page that filled its frame could never tell that it needs less.
  document.documentElement.toggleAttribute('data-framed', true)
  let host
  const tell = () => {
    if (host === undefined) return
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
    window.parent.postMessage({ type: 'tollgate:height', height }, host)
  }
  addEventListener('message', event => {
    if (event.source !== window.parent || event.data?.type !== 'tollgate:hello') return
    host = event.origin
    tell()
  })
  new ResizeObserver(tell).observe(document.documentElement)
}
