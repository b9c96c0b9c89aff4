/** Lets one import run at a time. Another thread may decide. */
export interface ImportTurns {
  /** @returns whether an import may begin now. */
  begin(): boolean | Promise<boolean>
  end(): void
}

/** Decides for all imports of the process. */
export class ImportTurn implements ImportTurns {
  #isTaken = false

  begin(): boolean {
    if (this.#isTaken) return false
    this.#isTaken = true
    return true
  }

  end(): void {
    this.#isTaken = false
  }
}
