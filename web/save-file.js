/** How long the browser has to save a file before its URL is revoked, in milliseconds. */
const SAVING = 60_000

/** @param {Blob} content @param {string} name */
export function saveFile(content, name) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING)
}
