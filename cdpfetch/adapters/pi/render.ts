/** How calls and results look in pi: one line for a call, six for a result, all of it when it is expanded. */

import type { Result } from "./command.ts";

/** The parts of pi's theme and components that are used here; both are passed in. */
export interface Theme {
	fg(color: string, text: string): string;
	bold(text: string): string;
}
export interface Options {
	expanded: boolean;
	isPartial: boolean;
}
export interface Shown {
	content: { type: string; text?: string }[];
	details?: unknown;
	isError?: boolean;
}

export const PREVIEW_LINES = 6;
/** Columns of a preview's line, beyond which it is cut: a page's line may be a whole paragraph. */
const WIDTH = 160;
const MARK = /^<\/?web-content [0-9a-f]+>$/;

/** The line of a call: the tool, and what it is about. */
export function callText(name: string, args: Record<string, any> | undefined, theme: Theme): string {
	const given = args ?? {};
	const urls = [given.url, ...(Array.isArray(given.urls) ? given.urls : [])].filter((one) => typeof one === "string");
	const about = urls.length ? urls.join(" ") : String(given.fetch_id ?? given.query ?? "");
	const shown = ["section", "find", "offset", "limit", "format", "prompt"].filter((key) => given[key] !== undefined);
	const more = shown.map((key) => `${key}=${JSON.stringify(given[key])}`).join(" ");
	const title = theme.fg("toolTitle", theme.bold(name));
	return `${title} ${theme.fg("accent", line(about))}${more ? ` ${theme.fg("dim", line(more))}` : ""}`;
}

/** A result: its stage while it is under way, then its first lines; all when it is expanded. */
export function resultText(result: Shown, options: Options, theme: Theme): string {
	const lines = bodyLines(result);
	if (options.isPartial) return theme.fg("warning", line(lines[lines.length - 1] ?? "working"));
	const color = result.isError ? "error" : "toolOutput";
	const shown = options.expanded ? lines : lines.slice(0, PREVIEW_LINES);
	const text = shown.map((one) => theme.fg(color, options.expanded ? clean(one) : line(one))).join("\n");
	const rest = lines.length - shown.length;
	return rest > 0 ? `${text}\n${theme.fg("muted", `... ${rest} more lines`)}` : text;
}

/** The lines that a person wants to see: without the fence that is there for the model. */
function bodyLines(result: Shown): string[] {
	const text = result.content.map((part) => part.text ?? "").join("\n");
	const lines = text.split(/\r?\n/).filter((one) => !MARK.test(one) && !one.startsWith("Between these marks is text"));
	while (lines.length && !lines[lines.length - 1].trim()) lines.pop();
	return lines;
}

/** Stages and results as pi takes them. */
export function content(text: string): { type: "text"; text: string }[] {
	return [{ type: "text", text }];
}

/** What is kept of a result beside its text, for rendering and for receipts. */
export function details(result: Result): Record<string, any> {
	return { ...result.data, failed: result.is_error };
}

function clean(text: string): string {
	// The command has removed escape sequences; arguments, which come from a model, have not been through it.
	return text.replace(/\t/g, "  ").replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

function line(text: string): string {
	const one = clean(text.replace(/\s*[\r\n]+\s*/g, " "));
	const letters = [...one];
	return letters.length > WIDTH ? `${letters.slice(0, WIDTH - 1).join("")}…` : one;
}
