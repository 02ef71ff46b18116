// One field of a form.

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "json" | "choice" | "check" | "number";
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly required?: boolean;
  readonly help?: string;
}
