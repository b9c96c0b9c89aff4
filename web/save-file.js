/** How long the browser may take to save a file, in milliseconds. */
const SAVING = 60_000

/** Lets the browser save a file. @param {Blob} content @param {string} name */
export function saveFile(content, name) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING)
}
