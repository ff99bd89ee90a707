/**
 * Reports the height of our page to the page that frames it. Only sites on the merchant's list can frame us
 * (`frame-ancestors`); we answer only the parent window, at the origin of its message, and send nothing but heights.
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
